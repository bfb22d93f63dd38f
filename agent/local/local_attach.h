/* SPDX-License-Identifier: Apache-2.0
 *
 * local_attach - attach a folder to a running sandbox, or detach it: a run of
 * stepback-local that enters the sandbox's namespaces.
 *
 * One request at a time; each is answered once, within a limit of time, and
 * never before the call returns, unless the object is freed.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_LOCAL_LOCAL_ATTACH_H
#define AGENT_LOCAL_LOCAL_ATTACH_H

#include <glib.h>
#include <stdbool.h>

#include "agent/machine/machine_kind.h"

struct local_attach;

/* sandbox: bubblewrap, as long as it was not reaped. */
struct local_attach *local_attach_new(const char *helper, GPid sandbox);

/* End what is going on; NULL is allowed. */
void local_attach_free(struct local_attach *attach);

/* Make a mount, and set *ret_fuse (-1 before) to its /dev/fuse, which the
 * caller takes, and *ret_device to its device number. */
void local_attach_open(struct local_attach *attach, const char *path,
                       bool read_only, int *ret_fuse, guint64 *ret_device,
                       machine_plugged done, void *opaque);

/* After that, once the device is served: attach the mount at its path. */
void local_attach_finish(struct local_attach *attach, machine_plugged done,
                         void *opaque);

/* Instead, or when the mount is attached: end stepback-local. A mount that is
 * attached nowhere ends, too. */
void local_attach_close(struct local_attach *attach);

/* Unmount this device, at whatever path the sandbox has it; number: the
 * folder's slot. */
void local_attach_remove(struct local_attach *attach, guint64 device,
                         unsigned number, bool force, machine_plugged done,
                         void *opaque);

#endif
