/* SPDX-License-Identifier: Apache-2.0
 *
 * rollback - roll back steps, and finish interrupted rollbacks.
 */
#ifndef INTERCEPTOR_ENGINE_ROLLBACK_H
#define INTERCEPTOR_ENGINE_ROLLBACK_H

#include "interceptor/engine/core.h"
#include "interceptor/engine/rollback_extent.h"

/* As ic_rollback_steps() and ic_rollback_to(), and as their previews. */
gboolean rollback_go(struct ic *ic, const struct rollback_extent *extent,
                     bool force, struct ic_rollback_result **ret_result,
                     GError **error);
gboolean rollback_preview(struct ic *ic, const struct rollback_extent *extent,
                          bool force, struct ic_rollback_result **ret_result,
                          GError **error);

/* Count the steps of the extent; an unfinished rollback is one of them.
 * ERROR_NOTHING_TO_UNDO: there is no such step. */
gboolean rollback_count_steps(struct ic *ic,
                              const struct rollback_extent *extent,
                              unsigned *ret_steps, GError **error);

/* Check that this many steps can be rolled back; else ERROR_NOTHING_TO_UNDO or
 * the reason. */
gboolean rollback_check_steps(struct ic *ic, unsigned steps, bool force,
                              GError **error);

/* With the gate write-locked: roll back the open step. ret_info (may be NULL):
 * what it had done. If that fails, changes are refused until it is finished;
 * except that an unprotected step is committed as it is. */
gboolean rollback_open_step_locked(struct ic *ic,
                                   struct ic_step_info **ret_info,
                                   GError **error);

#endif
