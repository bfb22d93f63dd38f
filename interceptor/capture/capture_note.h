/* SPDX-License-Identifier: Apache-2.0
 *
 * capture_note - note what a step has done to an inode.
 */
#ifndef INTERCEPTOR_CAPTURE_CAPTURE_NOTE_H
#define INTERCEPTOR_CAPTURE_CAPTURE_NOTE_H

#include "interceptor/capture/wal.h"

/* A name of the inode was removed, and not moved into the log; before: its stat
 * until then. If the name was the last, the number may be reused. */
void capture_note_gone(struct wal *wal, const struct stat *before);

/* Return whether the inode's last name may be removed without saving it: the
 * step created the inode, or the step's log already has it. */
bool capture_may_go(struct wal *wal, const struct stat *now);

/* The log took the inode, whose stat was st, as blobs/i<ino>. */
void capture_note_kept(struct wal *wal, const struct stat *st);

/* The step made this inode. */
void capture_note_created(struct wal *wal, struct ic_inode *inode);

/* The step gave this inode another name. */
void capture_note_linked(struct wal *wal, struct ic_inode *inode);

/* The step made this inode without a name. It enters the step's tables only
 * when it gets a name: no event reports when it is gone and its number is free.
 */
void capture_note_unnamed(struct wal *wal, struct ic_inode *inode);

/* None of its content needs saving: the step made it, or all is saved. */
void capture_note_complete(struct wal *wal, struct ic_inode *inode);

#endif
