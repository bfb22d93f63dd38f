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

#include "common/sandbox_filter.h"
#include "common/sandbox_ids.h"
#include "common/sandbox_leaks.h"
#include "common/sandbox_options.h"

bool sandbox_mode_parse(const char *name, enum sandbox_mode *ret_mode);
bool sandbox_action_parse(const char *name, enum sandbox_action *ret_action);

/* Does what ("the undo log") lie outside the shared folder, whose real path
 * that is? Clients must not get at it. Before it is made: a refusal leaves
 * nothing. path may be NULL. error: ERROR_INVALID_DIRECTORY. */
gboolean sandbox_check_place(const char *path, const char *share,
                             const char *what, GError **error);

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

void sandbox_free(struct sandbox *sandbox);

#endif
