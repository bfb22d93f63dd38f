/* SPDX-License-Identifier: Apache-2.0
 *
 * model_tree - snapshots of the oracle (oracle.h), looked into.
 */
#ifndef TESTS_MODEL_TREE_H
#define TESTS_MODEL_TREE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* The path at the start of a line: new. */
char *model_tree_path(const char *line);

/* The line of a path; NULL: there is none. Borrowed. */
const char *model_tree_find(GPtrArray *tree, const char *path);

/* As oracle_diff(); what is at loose (may be NULL) does not count. */
char *model_tree_diff(GPtrArray *wanted, GPtrArray *now, const char *loose);

/* Do two lines of one path say the same? */
bool model_tree_line_equal(const char *a, const char *b);

/* Copy the lines of a path, and of what is below it, from one to the other. */
void model_tree_add(GPtrArray *tree, GPtrArray *from, const char *path);

/* The inodes of all paths, looked at in the folder: path -> uint64_t *, new. */
GHashTable *model_tree_places(GPtrArray *tree, const char *share);

#endif
