/* SPDX-License-Identifier: Apache-2.0
 *
 * paths_plan - plan the restore of some paths (restore_paths.h).
 *
 * The plan is a tree of the paths that are asked for, of what is or was below
 * them where a step has touched it, and of the directories above. Making the
 * plan collects all that the change needs, and copies contents into a spool; it
 * fails if anything is unknown.
 *
 * Of the former names of one inode, one leads: a name that the inode still has,
 * or the first. The others become links to that one.
 *
 * Threads: paths_plan_*() with the gate write-locked, except
 * paths_plan_clear().
 */
#ifndef INTERCEPTOR_PATHS_PLAN_H
#define INTERCEPTOR_PATHS_PLAN_H

#include "interceptor/paths/paths_node.h"

/* Initialise an empty plan, which can be cleared. */
void paths_plan_init(struct paths_plan *plan);

/* Make the plan, which is empty, for paths relative to the share ("." is all of
 * it). ERROR_PATH_OUTSIDE_ROOT, ERROR_INVALID_FIELD; ERROR_NOT_FOUND: nothing
 * existed then, and nothing exists now; ERROR_TOO_LARGE: too deep;
 * ERROR_PREIMAGE_*, ERROR_IO_ERROR: something is unknown, or there is no space;
 * else as past_open(). */
gboolean paths_plan_make(struct ic *ic, int64_t id, const char *const *paths,
                         size_t n, struct paths_plan *plan, GError **error);
void paths_plan_clear(struct paths_plan *plan);

#endif
