/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_store - the state directories of sandboxes.
 *
 *     $XDG_STATE_HOME/stepback/sandboxes/NAME/    0700
 *         config.json     what the sandbox was started with
 *         lock            flock'd by the supervisor while it lives
 *         run.json        the supervisor's process and sockets
 *         end.json        how the sandbox ended; absent after a crash
 *         supervisor.log  JSON Lines; supervisor.log.1 is older
 *         console.log     the machine's console
 *
 * The lock is the only truth about "running". It belongs to an open file
 * description: "up" takes it and the supervisor inherits it, so that it is held
 * from the creation on. config.json, run.json and end.json are written under
 * the lock.
 *
 * A directory appears complete: it is created as ".new-XXXXXX" and renamed
 * without replacing. It disappears as ".old-XXXXXX". A process that dies in
 * between leaves such a directory without a lock, which sandbox_store_sweep()
 * removes. Every directory must belong to this user and have mode 0700, and is
 * opened without following symlinks. All of them are refused
 * (ERROR_INVALID_DIRECTORY) within a folder that has an undo log: what a guest
 * can write is never configuration.
 */
#ifndef AGENT_SANDBOX_SANDBOX_STORE_H
#define AGENT_SANDBOX_SANDBOX_STORE_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#define SANDBOX_CONFIG  "config.json"
#define SANDBOX_RUN     "run.json"
#define SANDBOX_END     "end.json"
#define SANDBOX_LOG     "supervisor.log"
#define SANDBOX_LOG_OLD "supervisor.log.1"
#define SANDBOX_CONSOLE "console.log"

/* Return the path of the directory of all sandboxes, or of one: a new string.
 */
char *sandbox_store_path(const char *name);

/* Return the names of all sandboxes, sorted (of char *; a new array). On
 * failure return NULL with ERROR_IO_ERROR. */
GPtrArray *sandbox_store_list(GError **error);

/* Open a sandbox's directory: a new fd. On failure return -1 with
 * ERROR_NOT_FOUND, ERROR_INVALID_FIELD (the name) or ERROR_IO_ERROR. */
int sandbox_store_open(const char *name, GError **error);

/* Wait for the right to create sandboxes: the caller can then check what exists
 * before it creates one. It ends when the new fd is closed. On failure return
 * -1 with ERROR_IO_ERROR. */
int sandbox_store_claim(GError **error);

/* Create a sandbox with this config.json (taken), and lock it. Return the lock:
 * a new fd. On failure return -1 with ERROR_BUSY (the name is taken) or
 * ERROR_IO_ERROR. */
int sandbox_store_create(const char *name, json_t *config, GError **error);

/* Lock a sandbox that does not run: a new fd. On failure return -1 with
 * ERROR_BUSY (it runs, starts or ends) or ERROR_IO_ERROR. */
int sandbox_store_lock(int dir_fd, GError **error);

/* Return whether another process holds the lock. */
bool sandbox_store_is_locked(int dir_fd);

/* Remove the directory of a sandbox whose lock the caller holds. Fails with
 * ERROR_IO_ERROR. */
gboolean sandbox_store_remove(const char *name, GError **error);

/* Remove what a creation or a removal left that was killed. Returns the number
 * of directories. */
unsigned sandbox_store_sweep(void);

#endif
