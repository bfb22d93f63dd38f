/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_state - the part of a restore that sets metadata, and what it shares
 * with restore_content. All names are back when they run, so every inode is at
 * the home it had.
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_STATE_H
#define INTERCEPTOR_RESTORE_RESTORE_STATE_H

#include "interceptor/restore/restore_base.h"

int restore_metadata(struct restore *r);

/* An O_PATH fd of the inode, at its home or where the log keeps it; -ESTALE if
 * it is at neither. */
int restore_open_inode(struct restore *r, const struct step_inode *inode);

/* An error is about this inode. */
void restore_note_trouble(struct restore *r, const struct step_inode *inode);

#endif
