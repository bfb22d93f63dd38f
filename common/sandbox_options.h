/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_options - the parameters of a sandbox.
 */
#ifndef COMMON_SANDBOX_OPTIONS_H
#define COMMON_SANDBOX_OPTIONS_H

#include <stdbool.h>

enum sandbox_mode {
    SANDBOX_AUTO,      /* namespaces if the host allows, else a warning */
    SANDBOX_NAMESPACE, /* namespaces, or an error */
    SANDBOX_CHROOT,    /* chroot(2), for root on hosts without namespaces */
    SANDBOX_NONE,      /* only seccomp */
};

/* The reaction to a forbidden system call. */
enum sandbox_action {
    SANDBOX_KILL, /* end the process (SIGSYS; the kernel logs it) */
    SANDBOX_LOG,  /* the kernel logs and executes the call */
    SANDBOX_TRAP, /* send SIGSYS, which a debugger can catch */
    SANDBOX_OFF,  /* no filter */
};

struct sandbox_options {
    const char *share;    /* must exist */
    const char *undo_dir; /* created if missing (mode 0700); NULL: none */

    /* Called with its real path before its parent becomes unreachable; or
     * NULL. */
    void (*undo_dir_made)(const char *path);

    /* Another directory of the server, outside the share; created likewise. */
    const char *store_dir;
    enum sandbox_mode mode;
    enum sandbox_action action;
    bool read_only; /* the share must not be written */

    /* Keep the right to open_by_handle_at(2), if the caller has it. */
    bool file_handles;

    /* Changes to the kept capabilities, "+sys_admin:-mknod"; or NULL. */
    const char *modcaps;

    /* ":inside:outside:count:", or several separated by commas, for a user
     * namespace; if it has a user 0 the server acts as that. NULL: only the
     * caller is mapped, to itself. */
    const char *uid_map, *gid_map;
};

#endif
