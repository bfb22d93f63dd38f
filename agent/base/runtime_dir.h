/* SPDX-License-Identifier: Apache-2.0
 *
 * runtime_dir - the private folder of one session's sockets.
 *
 * The folder is created in $XDG_RUNTIME_DIR if only this process's user can use
 * that directory (own_folder.h): after su or "sudo -E" it belongs to another
 * user, who could place symlinks there. If it fails that check, is too long for
 * a socket address, is not UTF-8, or lies in a folder shared with a guest, the
 * runtime folder is created in /tmp, or in /var/tmp if /tmp is shared. Mode
 * 0700.
 *
 * A watcher process, started before the folder is created, waits for the
 * owner's end, however it ends, and removes the folder. If the watcher is
 * killed too, the next start removes the folder: the owner holds a lock on the
 * file "agent.lock" in it as long as the owner lives.
 */
#ifndef AGENT_BASE_RUNTIME_DIR_H
#define AGENT_BASE_RUNTIME_DIR_H

#include <glib.h>

struct runtime_dir;

/* Remove the folders of dead owners, then create a new folder outside of all
 * paths in shared (NULL-terminated, or NULL). On failure return NULL with
 * ERROR_VM_LAUNCH_FAILED. */
struct runtime_dir *runtime_dir_new(const char *const *shared, GError **error);

/* The same for the folder $XDG_RUNTIME_DIR/stepback/NAME, whose path others can
 * know; one that a dead owner left is replaced. name is a file name. A folder
 * as of runtime_dir_new(), and a note, if that one cannot be used. */
struct runtime_dir *runtime_dir_new_named(const char *name,
                                          const char *const *shared,
                                          GError **error);

/* Remove the folder and its content. NULL is allowed. */
void runtime_dir_free(struct runtime_dir *dir);

/* Remove the folders of dead owners wherever this module creates them. */
void runtime_dir_sweep(void);

/* Return the path of a file in the folder as a new string. name has at most
 * RUNTIME_DIR_NAME_MAX bytes, so that the path fits a socket address. */
enum { RUNTIME_DIR_NAME_MAX = 16 };
char *runtime_dir_path(const struct runtime_dir *dir, const char *name);

/* Return why the folder is not in $XDG_RUNTIME_DIR, or NULL if it is there or
 * the variable is unset. Borrowed. */
const char *runtime_dir_note(const struct runtime_dir *dir);

#endif
