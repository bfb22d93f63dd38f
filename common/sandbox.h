/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox - confines a file server to the folders that it serves.
 *
 * A guest that gains code execution in a server must not reach more than the
 * share (and the undo log). Four layers, each of which stops most escapes
 * alone:
 *
 *   namespaces    (sandbox_enter)    hide other mounts, the network, System V
 *                                    IPC and, without root, users
 *   capabilities  (sandbox_confine)  only those that a file server needs remain
 *   Landlock      (sandbox_confine)  no path outside share and log, no TCP
 * port, no signal, no ptrace of other processes seccomp       (sandbox_filter)
 * only system calls that a server makes
 *
 * Moving names between share and log requires one mount (rename(2), EXDEV), and
 * an fd opened before pivot_root(2) allows an escape by "..". So the nearest
 * common parent of both is bind-mounted once and both are opened below it;
 * Landlock denies everything else there. If they are on different mounts
 * anyway, each is bound separately; so is the server's own directory
 * (store_dir), if it is not below that parent. Paths do not change.
 *
 * All functions act on the calling thread, before it starts others;
 * sandbox_filter() acts on all threads and comes last.
 *
 * Sources: pivot_root(2), user_namespaces(7), capabilities(7), landlock(7),
 * seccomp(2). Landlock is available from Linux 5.13 on; without REFER (5.19) it
 * prevents moving names between directories and is not used.
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

/* Check that "what" ("the undo log") lies outside the shared folder (a real
 * path), where clients could reach it. Call it before creation: a refusal
 * leaves no trace. path may be NULL. error: ERROR_INVALID_DIRECTORY. */
gboolean sandbox_check_place(const char *path, const char *share,
                             const char *what, GError **error);

/* Enter the namespaces. Sockets, /dev/fuse and everything else outside must be
 * open already. error: ERROR_INVALID_DIRECTORY, ERROR_INVALID_FIELD,
 * ERROR_IO_ERROR, with a remedy. options is copied where needed. */
struct sandbox *sandbox_enter(const struct sandbox_options *options,
                              GError **error);

/* Return the current paths of the folders: borrowed; real paths, shorter ones
 * in a chroot. NULL if there is none. */
const char *sandbox_share(const struct sandbox *sandbox);
const char *sandbox_undo_dir(const struct sandbox *sandbox);
const char *sandbox_store_dir(const struct sandbox *sandbox);

/* Return whether the folders are on mounts that no other process has. */
bool sandbox_has_own_mounts(const struct sandbox *sandbox);

/* Return whether the current directory replaces /proc/self/fd (proc_fd.h). */
bool sandbox_fds_are_here(const struct sandbox *sandbox);

/* Drop capabilities and apply Landlock to this thread and the threads that it
 * starts.
 */
gboolean sandbox_confine(struct sandbox *sandbox, GError **error);

void sandbox_free(struct sandbox *sandbox);

#endif
