/* SPDX-License-Identifier: Apache-2.0
 *
 * ambient - changes outside of steps that follow each other are one step.
 *
 * An ambient step is committed when there was no change for a while, so that
 * its end is noted and edits from outside can be told from it. A program that
 * writes every few seconds would fill the history with such steps and push
 * commands out of it. So the newest step goes on, if it is an ambient one of
 * this process and small, and if nothing else was noted in the log since and
 * nothing from outside has touched what it left: it becomes the open step
 * again, as if it had not been committed. What it knew of its inodes stays in
 * memory meanwhile.
 *
 * A next command, an edit from outside, a rollback and a redo each end the run.
 * So do size and number of changes, because a commit looks at all of them.
 */
#ifndef INTERCEPTOR_ENGINE_AMBIENT_H
#define INTERCEPTOR_ENGINE_AMBIENT_H

#include "interceptor/engine/ambient_rest.h"

/* A change outside of steps: go on with the last ambient step. With the gate
 * locked and names held, and no step open. 1: it is open again; 0: a new one is
 * to begin; or -errno. */
int ambient_resume(struct ic *ic);

/* Can the open step end now and a new one take the next change, in place of
 * going over its limit? Then that change ends with -EXFULL, and
 * ambient_split() follows. */
bool ambient_can_split(const struct ic *ic);

/* A change ended with rc. -EXFULL: it is to be made again, which is what true
 * says; the open step may copy more by now, or an ambient one ends here.
 * Nothing may be held. */
bool ambient_split(struct ic *ic, ssize_t rc);

/* With the gate write-locked: commit the open step if it is an ambient one. */
gboolean ambient_close_locked(struct ic *ic, GError **error);

/* Commit the open ambient step if it has been quiet for long enough. */
void ambient_close_quiet(struct ic *ic);

/* The process ends: commit an open ambient step. A step of another kind stays
 * in wal/in_progress: nobody has said that it is complete. */
void ambient_close_at_exit(struct ic *ic);

#endif
