/* SPDX-License-Identifier: Apache-2.0
 *
 * step_mark - mark a step's record without using disk room.
 *
 * A mark is a mode bit of manifest.jsonl: chmod(2) needs neither a block nor an
 * inode, and facts needed after a kill must not be lost on a full disk.
 */
#ifndef INTERCEPTOR_LOG_STEP_MARK_H
#define INTERCEPTOR_LOG_STEP_MARK_H

#include <stdbool.h>
#include <sys/stat.h>

enum step_mark {
    /* The step is rolled back without an inverse (redo.h, R2). */
    STEP_MARK_NO_REDO = S_IXUSR,

    /* Another process has changed what the step made, and the history could not
     * record it. */
    STEP_MARK_FOREIGN = S_IXGRP,

    /* A forced rollback of it, over outside edits, has begun. */
    STEP_MARK_FORCED = S_IXOTH,

    /* Of an inverse: it holds only the step's own work. */
    STEP_MARK_OWN = S_ISVTX,
};

/* Set a mark. dir: of the step. sync: it must survive a power cut. Returns 0 or
 * -errno. */
int step_mark(int dir, enum step_mark mark, bool sync);

/* Clear a mark. Returns 0 or -errno. */
int step_unmark(int dir, enum step_mark mark);

/* Return 1, 0 or -errno. */
int step_is_marked(int dir, enum step_mark mark);

#endif
