/* SPDX-License-Identifier: Apache-2.0
 *
 * redo - make, store and apply the inverse of a rollback (ic_redo()).
 *
 * R1  An inverse is complete before its rollback changes anything. If it is
 *     found incomplete, nothing was changed.
 * R2  A rollback goes on without an inverse if there is no room for it; a redo
 *     does not, since without it the step would be lost from the history. Such
 *     a rollback is marked (step_mark.h) before it changes anything; otherwise
 *     recovery after a kill could take a half-done rollback for the step's
 *     work and make an inverse of that.
 * R3  Inverses are valid for the tree that the rollback left: the first change
 *     by a client drops them all, before it is made.
 *
 * All calls with the gate write-locked, except redo_drop_all(): names held.
 */
#ifndef INTERCEPTOR_ENGINE_REDO_H
#define INTERCEPTOR_ENGINE_REDO_H

#include "interceptor/engine/core.h"
#include "interceptor/engine/rollback_extent.h"

/* wal/in_progress, with this summary, is the inverse that a redo was applying:
 * finish that, or move it back if nothing was changed yet. *ret_info: of the
 * redone step; NULL if it was not redone. */
gboolean redo_finish(struct ic *ic, const struct step *summary,
                     struct ic_step_info **ret_info, GError **error);

/* As ic_redo(). extent->counts: a step that left everything unchanged is redone
 * with the step before it; down_to is ignored. */
gboolean redo_go(struct ic *ic, const struct rollback_extent *extent,
                 bool force, struct ic_rollback_result **ret_result,
                 GError **error);

#endif
