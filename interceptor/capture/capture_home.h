/* SPDX-License-Identifier: Apache-2.0
 *
 * capture_home - how an inode that a step changes is found again.
 */
#ifndef INTERCEPTOR_CAPTURE_CAPTURE_HOME_H
#define INTERCEPTOR_CAPTURE_CAPTURE_HOME_H

#include "interceptor/capture/wal.h"

/* The step's record of an inode that existed before, with a way to find it
 * again, or of one that the step created. *ret_inode is NULL if there is
 * nothing to restore: the inode has no name and never will. -ESTALE: its
 * place in the tree cannot be found. */
int capture_inode(struct wal *wal, struct ic_inode *inode,
                  struct step_inode **ret_inode);

/* The inode is about to get one more name. */
int capture_link(struct wal *wal, struct ic_inode *inode);

#endif
