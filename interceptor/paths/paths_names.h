/* SPDX-License-Identifier: Apache-2.0
 *
 * paths_names - find untouched names of inodes that a plan links.
 *
 * The plan does not read what no step has touched. But a file that lost one of
 * its names, all of which are asked for, must become one file again, and no
 * record contains its other names. So if there may be such a file, the
 * directories that are asked for are read.
 */
#ifndef INTERCEPTOR_PATHS_NAMES_H
#define INTERCEPTOR_PATHS_NAMES_H

#include "interceptor/paths/paths_node.h"

/* Add such names, below the paths that are asked for, to found (owned char *).
 */
gboolean paths_names_find(const struct paths_plan *plan, GPtrArray *found,
                          GError **error);

#endif
