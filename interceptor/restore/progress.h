/* SPDX-License-Identifier: Apache-2.0
 *
 * progress - word of a rollback that takes long.
 *
 * Sends "event.progress" {"operation":"rollback"|"redo","step_id":7,"done":N,
 * "total":N}, where both numbers count names, files and metadata to be put
 * back: first after a second, then twice a second, and once more at the end.
 * One that is quick sends nothing.
 *
 * Threads: one.
 */
#ifndef INTERCEPTOR_RESTORE_PROGRESS_H
#define INTERCEPTOR_RESTORE_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

#include "interceptor/sys/events.h"

struct progress {
    struct events *events; /* borrowed; NULL: nobody wants to know */
    const char *operation;
    int64_t step_id;
    size_t done, total;
    int64_t first_ms, next_ms; /* CLOCK_MONOTONIC_COARSE; after the start */
    bool told;
};

/* quiet_ms: before the first event; 0: the default, 1000. */
void progress_start(struct progress *progress, struct events *events,
                    const char *operation, int64_t step_id, unsigned quiet_ms);

/* One more is done. */
void progress_step(struct progress *progress);

void progress_end(struct progress *progress);

#endif
