/* SPDX-License-Identifier: Apache-2.0
 *
 * launch - find and create the prerequisites that all machines have.
 */
#ifndef AGENT_MACHINE_LAUNCH_H
#define AGENT_MACHINE_LAUNCH_H

#include <glib.h>

#include "agent/base/runtime_dir.h"
#include "agent/machine/session_config.h"

struct launch {
    /* Programs; NULL: not installed, or not needed (net). */
    char *daemon, *net;
    struct runtime_dir *dir;

    /* Paths in dir; one socket per working folder. */
    char *fs_sockets[SESSION_MAX_DIRECTORIES];
    /* An open /dev/fuse each, which serves the folder instead of the socket; or
     * -1. */
    int fuse_fds[SESSION_MAX_DIRECTORIES];
    char *control_sockets[SESSION_MAX_DIRECTORIES];
    /* Signals do not interrupt a change that waits for a decision: the pause of
     * the guest acts as one. */
    bool holds_signals;
    /* A request of the guest takes long: let its kernel keep names for a
     * moment. */
    bool slow_requests;
    char *console;
    unsigned serial; /* of the next socket */
};

/* On failure return NULL with ERROR_VM_LAUNCH_FAILED, ERROR_INVALID_FIELD or
 * ERROR_INVALID_DIRECTORY; the text names the remedy. */
struct launch *launch_new(const struct session_config *config, GError **error);

/* Name the sockets of the folder with this index, which comes after all others;
 * and forget those of one of count folders, whereupon later ones move down. */
void launch_add_folder(struct launch *launch, unsigned index);
void launch_drop_folder(struct launch *launch, unsigned index, unsigned count);

/* Refuse an added folder that contains what the host uses: as launch_new(), and
 * the runtime folder and the state of sandboxes. */
gboolean launch_check_added(const struct launch *launch,
                            const struct session_config *config,
                            GError **error);

/* Free the object and remove the runtime folder. NULL is allowed. */
void launch_free(struct launch *launch);

#endif
