/* SPDX-License-Identifier: Apache-2.0
 *
 * outside_note - turn an outside edit into an event and a barrier.
 *
 * The watcher notes what the kernel reports. But it watches a new folder only
 * some time after the folder was made, and until then an edit in it by another
 * process is not reported. So when a step ends, the entries in its folders and
 * at its names are compared with what it made (step_is_foreign()): the engine
 * has each inode that the open step made in its tables anyway, so this costs
 * nothing extra. Foreign inodes are noted as if the watcher had seen them, and
 * are not part of the state that the step leaves (post_state.h), so that
 * verify.h finds them even if this note is lost.
 *
 * Not covered: writes of other processes to files of the step before the
 * watcher saw the folder; and a file that another process replaced there by one
 * with the same inode number. If the engine is killed during a step, its tables
 * are lost; then only changes that the history has, or that came some seconds
 * after the kill, are known not to be the step's.
 */
#ifndef INTERCEPTOR_ENGINE_OUTSIDE_NOTE_H
#define INTERCEPTOR_ENGINE_OUTSIDE_NOTE_H

#include "interceptor/engine/core.h"
#include "interceptor/report/survey.h"

/* Send the event. */
void outside_tell(struct ic *ic, const struct ic_barrier *barrier);

/* Record it in the history, unless the policy is another or there are enough of
 * them. Takes ownership of the barrier. With the gate write-locked, or
 * read-locked and names held. */
void outside_keep(struct ic *ic, struct ic_barrier *barrier);

/* Do both for the foreign entries in the survey of the open step that the
 * history lacks. now: include edits that the watcher has yet to note. With the
 * gate write-locked. */
void outside_note_foreign(struct ic *ic, const struct survey *survey, bool now);

/* A step that was never committed is about to be rolled back, because it is
 * denied or was interrupted, without asking a user. Return whether the history
 * has an outside edit of something that will be put aside. survey: of the tree;
 * NULL if the tree is half restored. */
bool outside_is_told(struct ic *ic, const struct step *step,
                     const struct survey *survey);

/* Find the files to be restored into which other processes may have written:
 * see restore_set_edited(). *ret_inodes: new, or NULL. */
void outside_find_edited(struct ic *ic, const struct step *step,
                         const struct survey *survey, int64_t *ret_since_us,
                         GHashTable **ret_inodes);

/* After a kill: return whether anything that the step made, or any file that it
 * changed, was made, moved or changed when the step's owner may have been gone,
 * or the watcher had not yet reported it. */
bool outside_came_later(struct ic *ic, const struct survey *survey);

/* The same for the time when the owner was certainly gone: a new barrier with
 * all paths, or NULL. */
struct ic_barrier *outside_find_late(struct ic *ic,
                                     const struct survey *survey);

#endif
