/* SPDX-License-Identifier: Apache-2.0
 *
 * ambient - consecutive changes outside of steps form one step.
 *
 * An ambient step is committed after a while without changes, so that its end
 * is recorded and outside edits can be told from it. A program that writes
 * every few seconds would fill the history with such steps and displace
 * commands. So the newest step continues if it is a small ambient one of this
 * process, nothing else has been recorded in the log since, and no outside edit
 * has touched what it left: it becomes the open step again, as if it had not
 * been committed. Its knowledge of its inodes stays in memory meanwhile.
 *
 * The next command, an outside edit, a rollback and a redo each end the run. So
 * do its size and the number of changes, because a commit examines all of them.
 */
#ifndef INTERCEPTOR_ENGINE_AMBIENT_H
#define INTERCEPTOR_ENGINE_AMBIENT_H

#include "interceptor/engine/ambient_rest.h"

/* Continue the last ambient step for a change outside of steps. With the gate
 * locked, names held, and no step open. Returns 1: it is open again; 0: the
 * caller must begin a new one; or -errno. */
int ambient_resume(struct ic *ic);

/* Return whether the open step can end now and a new one take the next change,
 * instead of exceeding its limit. Then the change ends with -EXFULL, and
 * ambient_split() follows. */
bool ambient_can_split(const struct ic *ic);

/* A change ended with rc. -EXFULL: returns true, and the change must be
 * repeated; the open step may copy more by now, or an ambient one ends here. No
 * lock may be held. */
bool ambient_split(struct ic *ic, ssize_t rc);

/* With the gate write-locked: commit the open step if it is an ambient one. */
gboolean ambient_close_locked(struct ic *ic, GError **error);

/* Commit the open ambient step if it has been quiet for long enough. */
void ambient_close_quiet(struct ic *ic);

/* The process ends: commit an open ambient step. A step of another type stays
 * in wal/in_progress: no caller has said that it is complete. */
void ambient_close_at_exit(struct ic *ic);

#endif
