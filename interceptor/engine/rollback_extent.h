/* SPDX-License-Identifier: Apache-2.0
 *
 * rollback_extent - which steps a rollback or a redo is about, and how it is
 * done.
 */
#ifndef INTERCEPTOR_ENGINE_ROLLBACK_EXTENT_H
#define INTERCEPTOR_ENGINE_ROLLBACK_EXTENT_H

#include <stdbool.h>
#include <stdint.h>

#include "interceptor/log/undo_log.h"

/* The steps that count. The others are taken back with the older step that is
 * counted, or, where there are too few of these, count as well. */
enum rollback_counts {
    ROLLBACK_COUNTS_ALL,
    ROLLBACK_COUNTS_CHANGES,  /* not those that left all as it was */
    ROLLBACK_COUNTS_COMMANDS, /* nor ambient ones */
};

/* What is to be taken back: so many of the newest steps, or, if down_to is not
 * 0, the one with this id and all that are newer. */
struct rollback_extent {
    unsigned steps;
    enum rollback_counts counts;
    int64_t down_to;
};

/* Does this step of the history count? */
bool rollback_does_count(const struct undo_log_entry *entry,
                         enum rollback_counts counts);

/* Beside enum restore_flags: with all barriers after the step; what is put
 * aside may be another process's, so it must be kept; it was begun before;
 * there is no change by another process. */
enum {
    ROLLBACK_CROSS = 1 << 8,
    ROLLBACK_EDITED = 1 << 9,
    ROLLBACK_RESUMED = 1 << 10,
    ROLLBACK_COMPARED = 1 << 11,
};

#endif
