/* SPDX-License-Identifier: Apache-2.0
 *
 * paths_outside - edits from outside in the way of a plan (paths_plan.h).
 *
 * As for a rollback, there are two sources: what the watcher has noted since,
 * and what differs from how a step left it (verify.h). The latter is asked of
 * the newest step that has to do with a path, since newer ones have changed
 * what older ones left. Only what the plan changes counts.
 *
 * A step of which it cannot be told what it touched counts as one that has to
 * do with every path: an edit of what only an older step had left is not found
 * by comparing then. It is not lost either, for the restore is a step that
 * keeps what it overwrites.
 *
 * Threads: with the gate write-locked.
 */
#ifndef INTERCEPTOR_PATHS_OUTSIDE_H
#define INTERCEPTOR_PATHS_OUTSIDE_H

#include "interceptor/paths/paths_node.h"

/* ERROR_UNDO_BARRIER, and the result tells of the edits; with force, or the
 * policy "warn", a warning of the result does. */
gboolean paths_outside_check(const struct paths_plan *plan, bool force,
                             struct ic_rollback_result *result, GError **error);

#endif
