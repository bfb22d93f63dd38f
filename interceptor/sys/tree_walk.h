/* SPDX-License-Identifier: Apache-2.0
 *
 * tree_walk - visit every entry of a tree of any depth.
 *
 * Neither the stack nor the number of open fds grows with the depth; memory
 * grows with the number of directories. Symlinks are visited as entries and
 * never followed.
 */
#ifndef INTERCEPTOR_SYS_TREE_WALK_H
#define INTERCEPTOR_SYS_TREE_WALK_H

#include <dirent.h>

enum { TREE_SKIP = 0, TREE_ENTER = 1 };

/* Called for each entry except "." and "..", in a directory open as dirfd; it
 * may move or remove an entry that it does not enter. Returns TREE_ENTER to
 * visit this directory later, TREE_SKIP, or -errno, which ends the walk. */
typedef int tree_visit(int dirfd, const struct dirent *entry, void *opaque);

/* Called with an O_PATH fd of a directory that cannot be read. */
typedef void tree_relax(int dirfd, void *opaque);

/* Walk the directory top (an fd of any kind, O_PATH included). relax (may be
 * NULL) is called before a second try; without it such directories are skipped.
 * Directories that are gone when their turn comes are skipped, too. Returns 0,
 * the value with which visit() ended the walk, or -errno; on error some entries
 * were not visited. */
int tree_walk(int top, tree_visit *visit, tree_relax *relax, void *opaque);

#endif
