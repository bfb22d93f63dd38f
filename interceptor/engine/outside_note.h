/* SPDX-License-Identifier: Apache-2.0
 *
 * outside_note - an edit from outside becomes an event and a barrier.
 *
 * The watcher notes what the kernel tells it of. But it knows a new folder only
 * some time after it was made, and what somebody else puts there until then is
 * told by nobody. So whatever a step leaves in its folders and at its names is
 * compared with what it made (step_is_foreign()) when it ends: the engine has
 * each inode that the open step made in its tables in any case, so making one
 * costs nothing more. What is foreign is noted as if the watcher had seen it,
 * and is no part of the state that the step leaves (post_state.h), so that
 * verify.h finds it even if this note is lost.
 *
 * Not told so: what others wrote into files of the step before the watcher came
 * there; nor a file that somebody removed there, to make another one, which got
 * the same inode number. If the engine is killed in a step, what it has in its
 * tables is lost; then only what the history has a note of, or what came some
 * seconds after the kill, is known not to be the step's.
 */
#ifndef INTERCEPTOR_ENGINE_OUTSIDE_NOTE_H
#define INTERCEPTOR_ENGINE_OUTSIDE_NOTE_H

#include "interceptor/engine/core.h"
#include "interceptor/report/survey.h"

/* Tell of it. */
void outside_tell(struct ic *ic, const struct ic_barrier *barrier);

/* Note it in the history, unless the policy is another or there are enough of
 * them. Takes the barrier. With the gate write-locked, or read-locked and names
 * held. */
void outside_keep(struct ic *ic, struct ic_barrier *barrier);

/* Both, of what is foreign in the survey of the open step, and not in the
 * history yet. now: also what the watcher has yet to note. With the gate
 * write-locked. */
void outside_note_foreign(struct ic *ic, const struct survey *survey, bool now);

/* A step that was never committed is about to be taken back, because it is
 * denied or was interrupted: nobody is asked then. Has the history a note that
 * others changed something of what will be put aside? survey: of the tree; NULL
 * if it is half-way to what it was. */
bool outside_is_told(struct ic *ic, const struct step *step,
                     const struct survey *survey);

/* Which of the files whose content will be put back others may have written
 * into: see restore_set_edited(). *ret_inodes: new, or NULL. */
void outside_find_edited(struct ic *ic, const struct step *step,
                         const struct survey *survey, int64_t *ret_since_us,
                         GHashTable **ret_inodes);

/* After a kill: was anything that the step made, or any file that it changed,
 * made, moved or changed when the owner of the step may have been gone, or the
 * watcher not yet come to tell of it? */
bool outside_came_later(struct ic *ic, const struct survey *survey);

/* The same when the owner was gone for certain: a new barrier that names all of
 * it, or NULL. */
struct ic_barrier *outside_find_late(struct ic *ic,
                                     const struct survey *survey);

#endif
