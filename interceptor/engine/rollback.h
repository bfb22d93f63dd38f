/* SPDX-License-Identifier: Apache-2.0
 *
 * rollback - taking steps back, and what a crash interrupted.
 */
#ifndef INTERCEPTOR_ENGINE_ROLLBACK_H
#define INTERCEPTOR_ENGINE_ROLLBACK_H

#include "interceptor/engine/core.h"
#include "interceptor/engine/rollback_extent.h"

/* As ic_rollback_steps(), ic_rollback_to(), and as the previews of these. */
gboolean rollback_go(struct ic *ic, const struct rollback_extent *extent,
                     bool force, struct ic_rollback_result **ret_result,
                     GError **error);
gboolean rollback_preview(struct ic *ic, const struct rollback_extent *extent,
                          bool force, struct ic_rollback_result **ret_result,
                          GError **error);

/* How many these are, an unfinished rollback being one of them.
 * ERROR_NOTHING_TO_UNDO: there is no such step. */
gboolean rollback_count_steps(struct ic *ic,
                              const struct rollback_extent *extent,
                              unsigned *ret_steps, GError **error);

/* Are there so many steps that can be taken back? Else ERROR_NOTHING_TO_UNDO
 * or why not. */
gboolean rollback_check_steps(struct ic *ic, unsigned steps, bool force,
                              GError **error);

/* With the gate write-locked: take the open step back. ret_info (may be NULL):
 * what it had done. If that fails, the engine is broken until it is finished;
 * only that an unprotected step was committed as it is breaks nothing. */
gboolean rollback_open_step_locked(struct ic *ic,
                                   struct ic_step_info **ret_info,
                                   GError **error);

#endif
