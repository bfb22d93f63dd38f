/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_state - set metadata, and open restored inodes.
 *
 * All names are back when this runs, so every inode is at its former home.
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_STATE_H
#define INTERCEPTOR_RESTORE_RESTORE_STATE_H

#include "interceptor/restore/restore_base.h"

int restore_metadata(struct restore *r);

/* Open, O_PATH, the inode at its home or where the log keeps it; -ESTALE if it
 * is at neither. */
int restore_open_inode(struct restore *r, const struct step_inode *inode);

/* Note the inode as the one that an error is about. */
void restore_note_trouble(struct restore *r, const struct step_inode *inode);

/* The restore has failed: return directories to the modes that they had before
 * restore_relax(). */
void restore_return_modes(struct restore *r);

#endif
