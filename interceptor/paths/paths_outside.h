/* SPDX-License-Identifier: Apache-2.0
 *
 * paths_outside - find outside edits that conflict with a plan (paths_plan.h).
 *
 * As for a rollback, there are two sources: what the watcher has recorded
 * since, and what differs from the state in which a step left it (verify.h).
 * The second is checked against the newest step that touched a path, since
 * newer steps have changed what older ones left. Only what the plan changes
 * counts.
 *
 * A step of unknown extent counts as one that touched every path. A comparison
 * then misses an edit of what only an older step had left. That edit is not
 * lost, since the restore is a step that keeps what it overwrites.
 *
 * Threads: with the gate write-locked.
 */
#ifndef INTERCEPTOR_PATHS_OUTSIDE_H
#define INTERCEPTOR_PATHS_OUTSIDE_H

#include "interceptor/paths/paths_node.h"

/* Fail with ERROR_UNDO_BARRIER, with the edits in the result; with force, or
 * under the policy "warn", add a warning to the result instead. */
gboolean paths_outside_check(const struct paths_plan *plan, bool force,
                             struct ic_rollback_result *result, GError **error);

#endif
