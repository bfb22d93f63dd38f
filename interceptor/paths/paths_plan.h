/* SPDX-License-Identifier: Apache-2.0
 *
 * paths_plan - what is to be changed so that some paths are as they were before
 * a step (restore_paths.h).
 *
 * The plan is a tree of the paths that are asked for, of what is or was below
 * them where a step has touched it, and of the folders above. All that the
 * change needs is found out while the plan is made: contents are copied into a
 * spool. What cannot be found out fails the plan.
 *
 * Of the names that one inode had then, one leads the others: a name that it
 * still has, or the first. The others become links of that one.
 *
 * Threads: paths_plan_*() with the gate write-locked, but for
 * paths_plan_clear().
 */
#ifndef INTERCEPTOR_PATHS_PLAN_H
#define INTERCEPTOR_PATHS_PLAN_H

#include "interceptor/paths/paths_node.h"

/* Make it an empty plan, which can be cleared. */
void paths_plan_init(struct paths_plan *plan);

/* Make the plan, which is empty, for paths that are relative to the share ("."
 * is all of it). ERROR_PATH_OUTSIDE_ROOT, ERROR_INVALID_FIELD; ERROR_NOT_FOUND:
 * there was nothing then, nor is there now; ERROR_TOO_LARGE: it is too deep;
 * ERROR_PREIMAGE_*, ERROR_IO_ERROR: something cannot be found out, or there is
 * no room; else as past_open(). */
gboolean paths_plan_make(struct ic *ic, int64_t id, const char *const *paths,
                         size_t n, struct paths_plan *plan, GError **error);
void paths_plan_clear(struct paths_plan *plan);

#endif
