/* SPDX-License-Identifier: Apache-2.0
 *
 * launch - what must be found and made before a machine can be started.
 */
#ifndef AGENT_VM_LAUNCH_H
#define AGENT_VM_LAUNCH_H

#include <glib.h>

#include "agent/base/runtime_dir.h"
#include "agent/vm/guest_image.h"
#include "agent/vm/session_config.h"
#include "agent/vm/vm_disk.h"

struct launch {
    /* Programs; NULL: not installed, or not needed (net). */
    char *qemu, *daemon, *net;
    struct guest_image *image;
    struct vm_disk *disk; /* NULL: the machine has none of its own */
    struct runtime_dir *dir;

    /* Paths in dir. Of the sockets there is one for each working folder. */
    char *fs_sockets[SESSION_MAX_DIRECTORIES];
    char *control_sockets[SESSION_MAX_DIRECTORIES];
    char *console;
};

/* NULL and error: ERROR_VM_LAUNCH_FAILED, ERROR_INVALID_FIELD,
 * ERROR_INVALID_DIRECTORY, each with what can be done about it. */
struct launch *launch_new(const struct session_config *config, GError **error);

/* The runtime folder is removed. NULL is allowed. */
void launch_free(struct launch *launch);

#endif
