/* SPDX-License-Identifier: Apache-2.0
 *
 * model_tree - look into snapshots of the oracle (oracle.h).
 */
#ifndef TESTS_MODEL_TREE_H
#define TESTS_MODEL_TREE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Return the path at the start of a line: new. */
char *model_tree_path(const char *line);

/* Return the line of a path; NULL: none. Borrowed. */
const char *model_tree_find(GPtrArray *tree, const char *path);

/* Like oracle_diff(); differences at loose (may be NULL) do not count. */
char *model_tree_diff(GPtrArray *wanted, GPtrArray *now, const char *loose);

/* Return whether two lines of one path are equal. */
bool model_tree_line_equal(const char *a, const char *b);

/* Copy the lines of a path, and of what is below it, from one to the other. */
void model_tree_add(GPtrArray *tree, GPtrArray *from, const char *path);

/* Return the inodes of all paths, read in the folder: path -> uint64_t *, new.
 */
GHashTable *model_tree_places(GPtrArray *tree, const char *share);

#endif
