/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_paths - undo by path: restore some paths in a new step.
 *
 * The history stays. The former state is looked up in the logs (past.h) and
 * planned with the gate write-locked (paths_plan.h); then a step is opened, and
 * the plan is carried out (paths_apply.h) as ordinary changes. So the new step
 * can be undone and redone, and one that a kill leaves open is rolled back at
 * the next start. A failure half-way aborts it.
 */
#ifndef INTERCEPTOR_RESTORE_PATHS_H
#define INTERCEPTOR_RESTORE_PATHS_H

#include "interceptor/engine/rollback.h"
#include "interceptor/interceptor.h"

/* As ic_restore_paths(), but before the oldest step of this extent;
 * request->step_id is ignored. */
gboolean restore_paths_of(struct ic *ic, const struct rollback_extent *extent,
                          const struct ic_restore *request,
                          struct ic_rollback_result **ret_result,
                          GError **error);

#endif
