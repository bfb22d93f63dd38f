/* SPDX-License-Identifier: Apache-2.0
 *
 * local_machine_state - the state of a local sandbox, private to the files that
 * implement local_machine.h.
 */
#ifndef AGENT_LOCAL_LOCAL_MACHINE_STATE_H
#define AGENT_LOCAL_LOCAL_MACHINE_STATE_H

#include "agent/base/child.h"
#include "agent/local/local_attach.h"
#include "agent/local/local_bus.h"
#include "agent/local/local_cgroup.h"
#include "agent/local/local_first.h"
#include "agent/local/local_ids.h"
#include "agent/local/local_rootfs.h"
#include "agent/machine/bulk_port.h"
#include "agent/machine/guest_channel.h"

struct local_machine {
    char *helper, *bwrap, *shim;
    struct local_rootfs rootfs;
    struct local_ids ids;
    struct local_bus *bus; /* NULL: none */
    struct child *child;
    struct local_first first; /* since the sandbox is ready */
    int wire;                 /* to stepback-local, until it is bubblewrap */
    guint wire_source;
    int control, bulk_fd;                     /* until the guest starts */
    struct local_attach *attach;              /* once it was needed */
    guint64 devices[SESSION_MAX_DIRECTORIES]; /* of the mounts, by slot */
    struct local_cgroup *cgroup;
    bool held;
    struct guest_channel *guest;
    struct bulk_port *bulk;
    /* The last line of the child before the shim's hello: afterwards the guest
     * can write there. */
    char *last_line;
    char *end; /* why the child has ended */
    guint64 lines;
};

#endif
