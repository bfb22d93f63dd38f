/* SPDX-License-Identifier: Apache-2.0
 *
 * capture_lost - find an open file that is not where it was last seen.
 */
#ifndef INTERCEPTOR_CAPTURE_CAPTURE_LOST_H
#define INTERCEPTOR_CAPTURE_CAPTURE_LOST_H

#include "interceptor/capture/wal.h"

/* Search the share for a name that the file had before the step, and store it
 * in the inode (inode_set_place()). Returns 0, -ENOENT or -errno. */
int capture_find_lost(struct wal *wal, struct ic_inode *inode);

#endif
