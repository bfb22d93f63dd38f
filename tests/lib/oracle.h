/* SPDX-License-Identifier: Apache-2.0
 *
 * oracle - a whole tree as text: what undo must bring back (I1).
 *
 * One line for each path, sorted by bytes: type, mode, owner, size, mtime in
 * ns, device, symlink target, extended attributes, which parts are data and
 * which are holes (oracle_map.h), a hash of the content, and, where an inode
 * has several names in the tree, the first of them. Not atime, ctime and inode
 * numbers. Trees may be of any depth; the lines' paths are cut (by a hash) if
 * they are long.
 */
#ifndef TESTS_ORACLE_H
#define TESTS_ORACLE_H

#include <glib.h>

/* The lines of the tree at path. A new array of strings; NULL and errno text
 * in *ret_trouble (new) if something could not be read. */
GPtrArray *oracle_snapshot(const char *path, char **ret_trouble);

/* NULL if both are equal, else a new text with the lines that differ. */
char *oracle_diff(GPtrArray *before, GPtrArray *after);

#endif
