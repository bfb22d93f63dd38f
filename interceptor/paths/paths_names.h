/* SPDX-License-Identifier: Apache-2.0
 *
 * paths_names - the part of a plan (paths_plan.h) that finds names which no
 * step has touched, of inodes that are to get back names which a step removed.
 *
 * Where no step has touched anything the plan does not look. But a file that
 * lost one of its names, all of which are asked for, must become one file
 * again, and no record leads to its other names. So if there may be such, the
 * folders that are asked for are read.
 */
#ifndef INTERCEPTOR_PATHS_NAMES_H
#define INTERCEPTOR_PATHS_NAMES_H

#include "interceptor/paths/paths_node.h"

/* Add such names, of what is asked for, to found (owned char *). */
gboolean paths_names_find(const struct paths_plan *plan, GPtrArray *found,
                          GError **error);

#endif
