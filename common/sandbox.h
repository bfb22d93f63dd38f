/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox - lock a file server into the folders that it works on.
 *
 * A guest that gets a server to run code of its own must not get further than
 * the guest is let anyway: into the share (and the undo log). Four walls stand
 * behind one another, and each would do alone against most ways out:
 *
 *   namespaces    (sandbox_enter)    other mounts, the network, System V IPC
 *                                    and, without root, users are out of sight
 *   capabilities  (sandbox_confine)  what a file server does not need is gone
 *   Landlock      (sandbox_confine)  no path but in share and log, no TCP port,
 *                                    no signal, no ptrace to others
 *   seccomp       (sandbox_filter)   system calls that it does not make
 *
 * Moving names between share and log needs one mount (rename(2), EXDEV), and an
 * fd that was opened before pivot_root(2) leads out by "..". So the nearest
 * common parent of both is bind-mounted once and both are opened below it;
 * what else is there is Landlock's to refuse. If they are on different mounts
 * anyway, each is bound by itself; so is a server's own folder (store_dir), if
 * it is not below that parent. Paths stay what they are.
 *
 * All of it is for the calling thread, before it makes others; sandbox_filter()
 * is for all threads and comes last.
 *
 * Sources: pivot_root(2), user_namespaces(7), capabilities(7), landlock(7),
 * seccomp(2). Landlock is asked for its version: from Linux 5.13 on; without
 * REFER (5.19) it cannot let names move between folders and is not used.
 */
#ifndef COMMON_SANDBOX_H
#define COMMON_SANDBOX_H

#include <glib.h>
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

bool sandbox_mode_parse(const char *name, enum sandbox_mode *ret_mode);
bool sandbox_action_parse(const char *name, enum sandbox_action *ret_action);

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

/* Does what ("the undo log") lie outside the shared folder, whose real path
 * that is? Clients must not get at it. Before it is made: a refusal leaves
 * nothing. path may be NULL. error: ERROR_INVALID_DIRECTORY. */
gboolean sandbox_check_place(const char *path, const char *share,
                             const char *what, GError **error);

/* Can these texts be such a list or map, the map for one with our own id? NULL
 * can. error: ERROR_INVALID_FIELD. */
gboolean sandbox_check_modcaps(const char *modcaps, GError **error);
gboolean sandbox_check_map(const char *option, const char *text, unsigned own,
                           GError **error);

/* Has somebody another number inside than outside? NULL: no. */
bool sandbox_map_renumbers(const char *text);

struct sandbox;

/* Enter the namespaces. Sockets, /dev/fuse and whatever else lies outside must
 * have been opened. error: ERROR_INVALID_DIRECTORY, ERROR_INVALID_FIELD,
 * ERROR_IO_ERROR with what to do. options is copied where needed. */
struct sandbox *sandbox_enter(const struct sandbox_options *options,
                              GError **error);

/* Where the folders are from now on: borrowed; real paths, and in a chroot
 * shorter ones. NULL if there is none. */
const char *sandbox_share(const struct sandbox *sandbox);
const char *sandbox_undo_dir(const struct sandbox *sandbox);
const char *sandbox_store_dir(const struct sandbox *sandbox);

/* Are the folders there through mounts that nobody else has? */
bool sandbox_has_own_mounts(const struct sandbox *sandbox);

/* Is the current folder what /proc/self/fd is elsewhere (proc_fd.h)? */
bool sandbox_fds_are_here(const struct sandbox *sandbox);

/* Drop capabilities and let Landlock restrict this thread and those it makes.
 */
gboolean sandbox_confine(struct sandbox *sandbox, GError **error);

/* Filter system calls, of all threads. */
gboolean sandbox_filter(const struct sandbox *sandbox, GError **error);

/* In a build with AddressSanitizer: from here on its look for leaks, which
 * needs what a confined process has not, does not take place. */
void sandbox_skip_leak_check(void);

void sandbox_free(struct sandbox *sandbox);

#endif
