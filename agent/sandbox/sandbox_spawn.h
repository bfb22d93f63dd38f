/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_spawn - start the supervisor of a sandbox in the background.
 */
#ifndef AGENT_SANDBOX_SANDBOX_SPAWN_H
#define AGENT_SANDBOX_SANDBOX_SPAWN_H

#include <glib.h>
#include <jansson.h>

/* Start "stepback supervise NAME", with more variables, in a session of its
 * own, with "/" as working directory and no other fds, and hand it the lock
 * (taken). Return a pipe for sandbox_spawn_wait(): a new fd. The start is
 * abandoned when the fd is closed before. On failure return -1 with
 * ERROR_VM_LAUNCH_FAILED. */
int sandbox_spawn(const char *name, int lock_fd, char *const *more,
                  GError **error);

/* In the supervisor: send the starter an answer, which is taken, or before it
 * what the start waits for (key "waits_for") or what it has rolled back
 * ("recovered"). ready_fd: -1 if there is no starter. */
void sandbox_spawn_tell(int ready_fd, json_t *message);
void sandbox_spawn_note(int ready_fd, const char *key, const char *text);

/* For a caller that shows what the start waits for, and what it recovers. */
struct sandbox_spawn_watch {
    /* Return when the fd can be read. */
    void (*wait)(int fd, void *opaque);
    void (*waits_for)(const char *what, void *opaque);
    void (*recovered)(const char *line, void *opaque);
    void *opaque;
};

/* Wait until the sandbox runs. Takes the fd; watch may be NULL. Return the
 * session as in session.status: a new object. On failure return NULL and the
 * supervisor's error. */
json_t *sandbox_spawn_wait(int ready_fd,
                           const struct sandbox_spawn_watch *watch,
                           GError **error);

#endif
