/* SPDX-License-Identifier: Apache-2.0
 *
 * oracle - a whole tree as text: what undo must restore (I1).
 *
 * One line per path, sorted by bytes: type, mode, owner, size, mtime in ns,
 * device, symlink target, extended attributes, which parts are data and which
 * are holes (oracle_map.h), a hash of the content, and, if an inode has several
 * names in the tree, the first of them. Left out: atime, ctime and inode
 * numbers. Trees may have any depth; long paths are cut in the lines, with a
 * hash.
 */
#ifndef TESTS_ORACLE_H
#define TESTS_ORACLE_H

#include <glib.h>

/* Return the lines of the tree at path. A new array of strings; NULL and the
 * errno's text in *ret_trouble (new) if something is unreadable. */
GPtrArray *oracle_snapshot(const char *path, char **ret_trouble);

/* Return NULL if both are equal, else a new text with the lines that differ. */
char *oracle_diff(GPtrArray *before, GPtrArray *after);

#endif
