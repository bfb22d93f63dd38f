/* SPDX-License-Identifier: Apache-2.0
 *
 * capture_home - record how undo finds an inode that a step changes.
 */
#ifndef INTERCEPTOR_CAPTURE_CAPTURE_HOME_H
#define INTERCEPTOR_CAPTURE_CAPTURE_HOME_H

#include "interceptor/capture/wal.h"

/* Return the step's record of an inode that existed before, with a way to find
 * it again, or of one that the step created. *ret_inode is NULL if there is
 * nothing to restore: the inode has no name and never will. -ESTALE: its
 * location in the tree cannot be found. */
int capture_inode(struct wal *wal, struct ic_inode *inode,
                  struct step_inode **ret_inode);

/* The inode is about to get another name. */
int capture_link(struct wal *wal, struct ic_inode *inode);

#endif
