/* SPDX-License-Identifier: Apache-2.0
 *
 * tree_walk - see every entry of a tree, however deep it is.
 *
 * Neither the stack nor the number of open fds grows with the depth; memory
 * does, with the number of directories. Symlinks are entries like others and
 * never followed.
 */
#ifndef INTERCEPTOR_SYS_TREE_WALK_H
#define INTERCEPTOR_SYS_TREE_WALK_H

#include <dirent.h>

enum { TREE_SKIP = 0, TREE_ENTER = 1 };

/* Called for each entry but "." and "..", in a directory open as dirfd; it may
 * move or remove the entry if it does not enter it. TREE_ENTER: look into this
 * directory later; TREE_SKIP; or -errno, which ends the walk. */
typedef int tree_visit(int dirfd, const struct dirent *entry, void *opaque);

/* Walk through the directory top (any fd, O_PATH too). relax (may be NULL) is
 * called with an O_PATH fd of a directory that cannot be read, before a second
 * try; without it such directories are left out, as are those that are gone
 * when their turn comes. 0, what visit() ended the walk with, or -errno: then
 * not everything was visited. */
int tree_walk(int top, tree_visit *visit, void (*relax)(int dirfd),
              void *opaque);

#endif
