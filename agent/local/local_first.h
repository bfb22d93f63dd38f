/* SPDX-License-Identifier: Apache-2.0
 *
 * local_first - the first process of a local sandbox, with which all others of
 * its pid namespace end.
 *
 * The parent-death signal that bubblewrap sets is the first process's own
 * setting: the end of bubblewrap alone is no proof that the sandbox has ended.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_LOCAL_LOCAL_FIRST_H
#define AGENT_LOCAL_LOCAL_FIRST_H

#include <glib.h>
#include <stdbool.h>

struct local_first {
    int pidfd; /* -1: none */
    guint source, timer;
    void (*ended)(void *opaque); /* NULL: no wait */
    void *opaque;
};

#define LOCAL_FIRST_NONE ((struct local_first){ .pidfd = -1 })

/* Return the pid of bubblewrap's child, or 0. The sandbox cannot give
 * bubblewrap another. bubblewrap: a process that was not reaped. */
long local_first_find(GPid bubblewrap);

/* Keep the first process, before a command of the sandbox runs. Return false if
 * it cannot be found. */
bool local_first_open(struct local_first *first, GPid bubblewrap);

/* Kill the first process, and call "ended" once all processes of the sandbox
 * have ended, at once if they have, or after a limit of time: a process that
 * waits for a file server cannot end before the server answers. Called at most
 * once for each object. */
void local_first_end(struct local_first *first, void (*ended)(void *opaque),
                     void *opaque);

/* Kill the first process if it is kept, and forget it without a call. */
void local_first_clear(struct local_first *first);

#endif
