/* SPDX-License-Identifier: Apache-2.0
 *
 * paths_links - the part of a plan (paths_plan.h) that is about inodes: which
 * names were one inode, and what content it had.
 */
#ifndef INTERCEPTOR_PATHS_LINKS_H
#define INTERCEPTOR_PATHS_LINKS_H

#include "interceptor/paths/paths_node.h"

/* A new table for plan->inodes. */
GHashTable *paths_links_table(void);

/* Note that the node, which is no folder, had this inode then. */
void paths_links_add(struct paths_plan *plan, struct paths_node *node,
                     const struct past_node *then);

/* All nodes are there: find each inode's leader, and the contents. */
gboolean paths_links_settle(struct paths_plan *plan, GError **error);

#endif
