/* SPDX-License-Identifier: Apache-2.0
 *
 * network_parts - what the files of network.h share.
 */
#ifndef AGENT_MACHINE_NETWORK_PARTS_H
#define AGENT_MACHINE_NETWORK_PARTS_H

#include <stdbool.h>
#include <sys/stat.h>

#include "agent/base/child.h"
#include "agent/client/control_link.h"
#include "agent/machine/guest_trust.h"
#include "agent/machine/network_asks.h"
#include "agent/machine/network_proxy.h"
#include "agent/machine/network_records.h"
#include "agent/machine/upstream_proxy.h"

struct network_callbacks;

struct network {
    struct child *process;
    struct control_link *link;
    struct network_proxy *proxy; /* for names */
    struct network_records *records;
    struct network_asks *asks;
    struct guest_trust *trust;
    const struct upstream_proxy *upstream;
    int ports; /* sockets of published ports go this way */
    const struct network_callbacks *callbacks;
    void *opaque;
    bool runs, stopping;
    bool open_recorded; /* the process reports no further ends */
    unsigned warnings;  /* under this policy */
    struct stat resolv_conf;
    const char *guest_dns;
    guint name_server_timer, blame_timer;
    guint finish_source; /* the process has ended, and the proxy was asked */
    char *last_error;
};

#endif
