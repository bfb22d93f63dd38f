/* SPDX-License-Identifier: Apache-2.0
 *
 * rollback_extent - the steps and the mode of a rollback or redo.
 */
#ifndef INTERCEPTOR_ENGINE_ROLLBACK_EXTENT_H
#define INTERCEPTOR_ENGINE_ROLLBACK_EXTENT_H

#include <stdbool.h>
#include <stdint.h>

#include "interceptor/log/undo_log.h"

/* The steps that count. The others are rolled back with the next older step
 * that counts, or, if there are too few of these, count as well. */
enum rollback_counts {
    ROLLBACK_COUNTS_ALL,
    ROLLBACK_COUNTS_CHANGES,  /* not those that left everything unchanged */
    ROLLBACK_COUNTS_COMMANDS, /* not ambient ones either */
};

/* The extent: this many of the newest steps, or, if down_to is not 0, the step
 * with this id and all newer ones. */
struct rollback_extent {
    unsigned steps;
    enum rollback_counts counts;
    int64_t down_to;
};

/* Return whether this step of the history counts. */
bool rollback_does_count(const struct undo_log_entry *entry,
                         enum rollback_counts counts);

/* In addition to enum restore_flags: CROSS: with all barriers after the step;
 * EDITED: inodes put aside may be another process's, so they must be kept;
 * RESUMED: it was begun before; COMPARED: no other process has changed
 * anything. */
enum {
    ROLLBACK_CROSS = 1 << 8,
    ROLLBACK_EDITED = 1 << 9,
    ROLLBACK_RESUMED = 1 << 10,
    ROLLBACK_COMPARED = 1 << 11,
};

#endif
