/* SPDX-License-Identifier: Apache-2.0
 *
 * capture_note - what a step has done to an inode.
 */
#ifndef INTERCEPTOR_CAPTURE_CAPTURE_NOTE_H
#define INTERCEPTOR_CAPTURE_CAPTURE_NOTE_H

#include "interceptor/capture/wal.h"

/* A name of the inode was removed, and was not moved into the log; before: its
 * stat until then. If it was the last, the number may be used again. */
void capture_note_gone(struct wal *wal, const struct stat *before);

/* Need the last name of this inode not be kept: has the step created it, or
 * does the step's log hold it already? */
bool capture_may_go(struct wal *wal, const struct stat *now);

/* The log took the inode, whose stat was st, as blobs/i<ino>. */
void capture_note_kept(struct wal *wal, const struct stat *st);

/* The step made this inode. */
void capture_note_created(struct wal *wal, struct ic_inode *inode);

/* It gave this inode one more name. */
void capture_note_linked(struct wal *wal, struct ic_inode *inode);

/* It made this one without a name. It is in the step's tables only when it gets
 * one: nobody tells when it is gone, and its number another's. */
void capture_note_unnamed(struct wal *wal, struct ic_inode *inode);

/* Nothing of its content is to be kept: the step made it. */
void capture_note_complete(struct wal *wal, struct ic_inode *inode);

#endif
