/* SPDX-License-Identifier: Apache-2.0
 *
 * capture_rights - what an ordinary user could not take back is refused.
 *
 * The kernel lets the owner of a file do what only root can undo (rights.h).
 * These say -EPERM then, once a step with a warning. known is the inode's
 * record; what the step created, or what has none, is not restored.
 *
 * Locks: the engine's names lock.
 */
#ifndef INTERCEPTOR_CAPTURE_CAPTURE_RIGHTS_H
#define INTERCEPTOR_CAPTURE_CAPTURE_RIGHTS_H

#include "interceptor/capture/wal.h"

/* Mode or attributes may change. */
int capture_check_mode(struct wal *wal, const struct ic_inode *inode,
                       const struct step_inode *known);

/* A write, which may take away capabilities as well. */
int capture_check_content(struct wal *wal, const struct ic_inode *inode,
                          const struct step_inode *known);

/* dir/name, whose stat is now (NULL: nothing is there), will be another. What
 * was there goes back into dir, and what will be leaves it: projects may be in
 * the way of both (project.h), if we may not set them. */
int capture_check_project(struct wal *wal, const struct ic_inode *dir,
                          const char *name, const struct stat *now);

/* It is removed, and would be made anew: what it is, and then its project. */
int capture_check_copy(struct wal *wal, struct ic_inode *inode,
                       const struct stat *now);
int capture_check_remade(struct wal *wal, const struct ic_inode *dir,
                         const char *name, const struct stat *now);

/* Its owner or group is about to become this; -1: not that. -EPERM as above,
 * also if the old one could not be given back. */
int capture_owner(struct wal *wal, struct ic_inode *inode, uid_t uid,
                  gid_t gid);

/* dir/name, whose stat is now, is about to be renamed. -EPERM: a folder of
 * others that we could not put aside to rename it back. */
int capture_rename(struct wal *wal, struct ic_inode *dir, const char *name,
                   const struct stat *now);

#endif
