/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_alive - files that another process has moved to names of its own.
 *
 * A forced rollback makes the step's paths what they were. Where the file that
 * had the name lives on elsewhere in the tree, its content is there, and what
 * the log has kept of it is not all that is needed.
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_ALIVE_H
#define INTERCEPTOR_RESTORE_RESTORE_ALIVE_H

#include "interceptor/restore/restore_base.h"

/* 1 if the file is in the tree, under a name that no record has, 0 if not, or
 * -errno. Reads the whole tree, once. */
int restore_is_alive(struct restore *r, const struct step_inode *inode);

/* What is at the name has the inode's number; was it made after the step met
 * the inode, or after undo made that anew? Then it is another file. */
bool restore_is_other(const struct step_inode *inode, int dirfd,
                      const char *name);

/* Has another process moved the file to dirfd/name? Then that name stays its
 * own, and the step's path gets a copy instead of one more link. False of a
 * name that the step knows, and of a file that had several. 1, 0 or -errno. */
int restore_was_moved(const struct restore *r, const struct step_inode *inode,
                      int dirfd, const char *name);

/* Make dirfd/name a copy of the regular file: data, holes and metadata. source:
 * any fd of it. 0 or -errno; on error there may be an incomplete file. */
int restore_copy_file(int source, int dirfd, const char *name);

/* Copy so many bytes, with holes; a clone where the filesystem can make one. to
 * is empty. 0 or -errno. */
int restore_copy_data(int from, int to, off_t size);

#endif
