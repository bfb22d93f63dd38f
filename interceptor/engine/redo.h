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

#include "interceptor/engine/core.h"
#include "interceptor/engine/rollback_extent.h"

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

#endif
