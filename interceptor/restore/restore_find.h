/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_find - find the sources of the inodes that a restore attaches.
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_FIND_H
#define INTERCEPTOR_RESTORE_RESTORE_FIND_H

#include "interceptor/restore/restore_base.h"

/* Return whether the log has all that is needed to make the inode anew. It has
 * all content of a file that was copied before its removal. Of another file it
 * has only what changed; such a file can only have been removed by another
 * process. */
bool restore_can_remake(const struct step_inode *inode);

/* Return 1 if dirfd/name is this inode, 0 if not, or -errno. An inode that
 * cannot be examined now must not count as missing: it would be made anew, and
 * the original would be removed. */
int restore_is_there(int dirfd, const char *name, uint64_t ino);

/* Return 1 if the inode is in staging or in the log, 0 if not, or -errno. */
int restore_is_kept(const struct restore *r, const struct step_inode *inode);

/* Return 1 if the inode is in staging or in the log, or can be made from its
 * copy or from where another process has moved it, 0 if not, or -errno. */
int restore_can_find(struct restore *r, const struct step_inode *inode);

#endif
