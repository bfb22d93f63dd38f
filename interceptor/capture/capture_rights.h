/* SPDX-License-Identifier: Apache-2.0
 *
 * capture_rights - refuse changes that an ordinary user could not undo.
 *
 * The kernel lets the owner of a file make changes that only root can reverse
 * (rights.h). These functions then return -EPERM, with one warning per step.
 * known is the inode's record; an inode without a record, or one that the step
 * created, needs no restoring.
 *
 * Locks: the engine's names lock.
 */
#ifndef INTERCEPTOR_CAPTURE_CAPTURE_RIGHTS_H
#define INTERCEPTOR_CAPTURE_CAPTURE_RIGHTS_H

#include "interceptor/capture/wal.h"

/* Mode or attributes are about to change. */
int capture_check_mode(struct wal *wal, const struct ic_inode *inode,
                       const struct step_inode *known);

/* A write, which may also clear capabilities. */
int capture_check_content(struct wal *wal, const struct ic_inode *inode,
                          const struct step_inode *known);

/* dir/name, whose stat is now (NULL: it does not exist), is about to be
 * replaced. Undo moves the old inode back into dir and the new one out;
 * projects may prevent either (project.h), if this process cannot set them. */
int capture_check_project(struct wal *wal, const struct ic_inode *dir,
                          const char *name, const struct stat *now);

/* The inode is about to be removed, and undo would recreate it: check its
 * attributes, then its project. */
int capture_check_copy(struct wal *wal, struct ic_inode *inode,
                       const struct stat *now);
int capture_check_remade(struct wal *wal, const struct ic_inode *dir,
                         const char *name, const struct stat *now);

/* Owner or group is about to change to these; -1: unchanged. -EPERM as above,
 * also if the old one could not be restored. */
int capture_owner(struct wal *wal, struct ic_inode *inode, uid_t uid,
                  gid_t gid);

/* dir/name, whose stat is now, is about to be renamed. -EPERM: it is another
 * user's folder that undo could not put aside to rename it back. */
int capture_rename(struct wal *wal, struct ic_inode *dir, const char *name,
                   const struct stat *now);

#endif
