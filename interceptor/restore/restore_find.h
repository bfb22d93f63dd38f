/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_find - where a restore can get an inode from.
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_FIND_H
#define INTERCEPTOR_RESTORE_RESTORE_FIND_H

#include "interceptor/restore/restore_base.h"

/* Of a file that was copied to be removed, all content was kept. Of another
 * one only what changed: it can only have vanished by somebody else's hand. */
bool restore_can_remake(const struct step_inode *inode);

/* 1 if dirfd/name is this inode, 0 if it is not, or -errno. What cannot be
 * looked at now must not be taken for missing: it would be made anew, and what
 * it was would be removed. */
int restore_is_there(int dirfd, const char *name, uint64_t ino);

/* 1 if the inode is in staging or in the log, 0 if not, or -errno. */
int restore_is_kept(const struct restore *r, const struct step_inode *inode);

/* 1 if the inode is in staging or in the log, or can be made from its copy, or
 * from where another process has moved it, 0 if not, or -errno. */
int restore_can_find(struct restore *r, const struct step_inode *inode);

#endif
