/* SPDX-License-Identifier: Apache-2.0
 *
 * paths_links - the inodes of a plan (paths_plan.h): their names and content.
 */
#ifndef INTERCEPTOR_PATHS_LINKS_H
#define INTERCEPTOR_PATHS_LINKS_H

#include "interceptor/paths/paths_node.h"

/* Return a new table for plan->inodes. */
GHashTable *paths_links_table(void);

/* Record that the node, which is not a directory, had this inode. */
void paths_links_add(struct paths_plan *plan, struct paths_node *node,
                     const struct past_node *then);

/* Call when all nodes exist: choose each inode's leader, and read the contents.
 */
gboolean paths_links_settle(struct paths_plan *plan, GError **error);

#endif
