/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_paths - undo by path: some paths become what they were before a step,
 * by a new step.
 *
 * Nothing is taken out of the history. What the paths were is looked up in the
 * logs (past.h) and planned with the gate write-locked (paths_plan.h); then a
 * step is opened, in which the plan is carried out (paths_apply.h) as changes
 * like any others. So the new step can be undone and redone, and one that a
 * kill leaves open is taken back at the next start. If it fails half-way, it is
 * aborted.
 */
#ifndef INTERCEPTOR_RESTORE_PATHS_H
#define INTERCEPTOR_RESTORE_PATHS_H

#include "interceptor/engine/rollback.h"
#include "interceptor/interceptor.h"

/* As ic_restore_paths(), but before the oldest step of this extent;
 * request->step_id does not count. */
gboolean restore_paths_of(struct ic *ic, const struct rollback_extent *extent,
                          const struct ic_restore *request,
                          struct ic_rollback_result **ret_result,
                          GError **error);

#endif
