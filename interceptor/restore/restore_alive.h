/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_alive - find files that another process has moved.
 *
 * A forced rollback restores the step's paths. If a file that had such a path
 * now has another name in the tree, its content is found there; the log has
 * only the part that the step changed.
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_ALIVE_H
#define INTERCEPTOR_RESTORE_RESTORE_ALIVE_H

#include "interceptor/restore/restore_base.h"

/* Return 1 if the file is in the tree, under a name that no record contains, 0
 * if not, or -errno. Reads the whole tree, once. */
int restore_is_alive(struct restore *r, const struct step_inode *inode);

/* The entry has the inode's number. Return whether it is another file: one that
 * was made after the step met the inode, or after undo made the inode anew. */
bool restore_is_other(const struct step_inode *inode, int dirfd,
                      const char *name);

/* Return whether another process has moved the file to dirfd/name. That name
 * then stays as it is, and the step's path gets a copy instead of a further
 * link. False for a name that the step knows, and for a file that had several
 * names. 1, 0 or -errno. */
int restore_was_moved(const struct restore *r, const struct step_inode *inode,
                      int dirfd, const char *name);

/* Make dirfd/name a copy of the regular file: data, holes and metadata. source:
 * any fd of the file. 0 or -errno; after an error there may be an incomplete
 * file. */
int restore_copy_file(int source, int dirfd, const char *name);

/* Copy size bytes, with holes; a clone if the file system supports it. to is an
 * empty file. 0 or -errno. */
int restore_copy_data(int from, int to, off_t size);

#endif
