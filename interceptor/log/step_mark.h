/* SPDX-License-Identifier: Apache-2.0
 *
 * step_mark - a step's record can be marked without room on the disk.
 *
 * A mark is a bit of the mode of manifest.jsonl: chmod(2) needs neither block nor
 * inode, and what has to be known after a kill must not be lost for want of
 * one.
 */
#ifndef INTERCEPTOR_LOG_STEP_MARK_H
#define INTERCEPTOR_LOG_STEP_MARK_H

#include <stdbool.h>
#include <sys/stat.h>

enum step_mark {
    /* It is taken back without an inverse (redo.h, R2). */
    STEP_MARK_NO_REDO = S_IXUSR,

    /* Others have changed what it made, and the history could not be told. */
    STEP_MARK_FOREIGN = S_IXGRP,

    /* A forced rollback of it, over changes by other processes, has begun. */
    STEP_MARK_FORCED = S_IXOTH,

    /* Of an inverse: all that it holds is the step's own work. */
    STEP_MARK_OWN = S_ISVTX,
};

/* dir: of the step. sync: it must outlive a power cut. 0 or -errno. */
int step_mark(int dir, enum step_mark mark, bool sync);

/* Take it away. 0 or -errno. */
int step_unmark(int dir, enum step_mark mark);

/* 1, 0 or -errno. */
int step_is_marked(int dir, enum step_mark mark);

#endif
