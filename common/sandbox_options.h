/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_options - what a sandbox is asked for.
 */
#ifndef COMMON_SANDBOX_OPTIONS_H
#define COMMON_SANDBOX_OPTIONS_H

#include <stdbool.h>

enum sandbox_mode {
    SANDBOX_AUTO,      /* namespaces if the host allows, else a warning */
    SANDBOX_NAMESPACE, /* namespaces, or an error */
    SANDBOX_CHROOT,    /* chroot(2), for root on hosts without namespaces */
    SANDBOX_NONE,      /* nothing at all, but for seccomp */
};

/* What a system call that is not allowed does. */
enum sandbox_action {
    SANDBOX_KILL, /* ends the process (SIGSYS; the kernel logs it) */
    SANDBOX_LOG,  /* is logged by the kernel and goes through */
    SANDBOX_TRAP, /* sends SIGSYS, which a debugger can catch */
    SANDBOX_OFF,  /* no filter */
};

struct sandbox_options {
    const char *share;    /* must exist */
    const char *undo_dir; /* made if missing (mode 0700); NULL: none */

    /* Called with its real path before its parent is out of reach; or NULL. */
    void (*undo_dir_made)(const char *path);

    /* Another folder of the server's own, outside the share; likewise. */
    const char *store_dir;
    enum sandbox_mode mode;
    enum sandbox_action action;
    bool read_only; /* the share must not be written to */

    /* Keep the right to open_by_handle_at(2), if the caller has it. */
    bool file_handles;

    /* "+sys_admin:-mknod": changes to the capabilities that are kept; or NULL.
     */
    const char *modcaps;

    /* ":inside:outside:count:", or several with commas, for a user namespace;
     * who has a user 0 in it acts as that. NULL: the caller alone is mapped, to
     * itself. */
    const char *uid_map, *gid_map;
};

#endif
