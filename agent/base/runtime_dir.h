/* SPDX-License-Identifier: Apache-2.0
 *
 * runtime_dir - the private folder of one session's sockets.
 *
 * It is made in $XDG_RUNTIME_DIR if that is a folder of this process's user
 * alone (own_folder.h): after su or "sudo -E" it is another user's, who could
 * put links in it. Otherwise, and if that path is too long for a socket's
 * address, not UTF-8, or within a folder that a guest sees, it is made in /tmp,
 * or in /var/tmp if a guest sees /tmp. Mode 0700.
 *
 * It goes with its owner, however that one ends: a process that does nothing
 * else waits for the end and removes the folder. Should that one be killed as
 * well, the next start does it: a file "agent.lock" in the folder is locked as
 * long as the owner lives.
 */
#ifndef AGENT_BASE_RUNTIME_DIR_H
#define AGENT_BASE_RUNTIME_DIR_H

#include <glib.h>

struct runtime_dir;

/* Remove what dead owners left, then make a new folder, which is in none of
 * shared (NULL at the end; or NULL). NULL and error: ERROR_VM_LAUNCH_FAILED. */
struct runtime_dir *runtime_dir_new(const char *const *shared, GError **error);

/* Remove the folder with all in it. NULL is allowed. */
void runtime_dir_free(struct runtime_dir *dir);

/* The path of a file in it. name is short: RUNTIME_DIR_NAME_MAX bytes, so that
 * the path fits a socket's address. A new string. */
enum { RUNTIME_DIR_NAME_MAX = 16 };
char *runtime_dir_path(const struct runtime_dir *dir, const char *name);

/* Why it is not in $XDG_RUNTIME_DIR, as a sentence; NULL: it is, or that is not
 * set. Borrowed. */
const char *runtime_dir_note(const struct runtime_dir *dir);

#endif
