/* SPDX-License-Identifier: Apache-2.0
 *
 * redo - the inverse of a rollback: made, kept, taken back (ic_redo()).
 *
 * R1  An inverse is complete before the rollback that it is for changes
 *     anything. Found incomplete, nothing was changed.
 * R2  A rollback goes on without an inverse if there is no room for it; a redo
 *     does not, since without it the step would be gone from the history. Such
 *     a rollback is marked (step_mark.h) before it changes anything, lest what
 *     finishes it after a kill take the half of it for the step's work and make
 *     an inverse of that.
 * R3  Inverses are valid for the tree that the rollback left: the first change
 *     by a client drops them all, before it is made.
 *
 * All calls with the gate write-locked, but redo_drop_all(): names held.
 */
#ifndef INTERCEPTOR_ENGINE_REDO_H
#define INTERCEPTOR_ENGINE_REDO_H

#include "interceptor/engine/engine.h"
#include "interceptor/engine/rollback.h"
#include "interceptor/restore/restore.h"

/* wal/inverse, while it is in use. */
struct redo_target {
    int dir, blobs; /* -1: there is none */
    int64_t seq;    /* the inverse's */
};

#define REDO_TARGET_NONE ((struct redo_target){ .dir = -1, .blobs = -1 })

/* The inverse that an interrupted rollback of step id (0: of any) has left, if
 * it is complete; else what there is of it is dropped, and the target is none.
 * -errno: it cannot be told now; the target is none, and nothing is dropped. */
int redo_find(struct ic *ic, int64_t id, struct redo_target *ret_target);

/* After restore_check(): make the inverse of the step, whose blobs/ is given.
 * max_bytes: of content that is to be copied; 0: no limit. 0 or -errno. */
int redo_make(struct ic *ic, struct step *step, int blobs,
              const struct restore *restore, int64_t max_bytes,
              struct redo_target *ret_target);

/* What the rollback puts aside goes there, if it can. */
void redo_set_keep(struct restore *restore, const struct redo_target *target);

/* It is not to be had after all. */
void redo_drop(struct ic *ic, struct redo_target *target);

/* The rollback of a committed step is done: redo/ gets its inverse, with what
 * the rollback left noted. If there is none, or inodes that others took away
 * had to be made anew, by whose old numbers all in redo/ would look for them,
 * redo/ is dropped. precious: the inverse may have the only copy of something,
 * and stays, whatever happens. */
void redo_keep(struct ic *ic, struct redo_target *target,
               const struct restore *restore, bool precious);

/* Note what the tree is now, where the inverse will change it. Without that an
 * edit from outside may go unseen, so there is no redo then. What an earlier
 * try has left after the first end record is cut off. 0 or -errno;
 * -ENOTRECOVERABLE: the inverse cannot be used any more. */
int redo_add_post_state(struct ic *ic, const struct redo_target *target);

void redo_close(struct redo_target *target);

/* A client is about to change something. 0 or -errno. */
int redo_drop_all(struct ic *ic);

/* wal/in_progress, whose summary is given, is the inverse that a redo was
 * taking back: finish that, or put it back if nothing was changed yet.
 * *ret_info: of the step that was redone; NULL if it was not. */
gboolean redo_finish(struct ic *ic, const struct step *summary,
                     struct ic_step_info **ret_info, GError **error);

/* As ic_redo(). extent->counts: what left all as it was follows the step before
 * it; down_to is not looked at. */
gboolean redo_go(struct ic *ic, const struct rollback_extent *extent,
                 bool force, struct ic_rollback_result **ret_result,
                 GError **error);

/* For the log's links: the blobs/ of all inverses. */
void redo_each(struct ic *ic, void (*each)(struct ic *ic, int folder));

#endif
