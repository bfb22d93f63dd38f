/* SPDX-License-Identifier: Apache-2.0
 *
 * progress - report the progress of a long rollback.
 *
 * Sends "event.progress" {"operation":"rollback"|"redo","step_id":7,"done":N,
 * "total":N}; both numbers count names, contents and metadata to restore. The
 * first event is sent after a second, further ones twice a second, and one at
 * the end. A shorter rollback sends none.
 *
 * Threads: one.
 */
#ifndef INTERCEPTOR_RESTORE_PROGRESS_H
#define INTERCEPTOR_RESTORE_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

#include "interceptor/sys/events.h"

struct progress {
    struct events *events; /* borrowed; NULL: no subscriber */
    const char *operation;
    int64_t step_id;
    size_t done, total;
    int64_t first_ms, next_ms; /* CLOCK_MONOTONIC_COARSE; times of the first and
                                * next event */
    bool told;
};

/* quiet_ms: delay before the first event; 0: the default, 1000. */
void progress_start(struct progress *progress, struct events *events,
                    const char *operation, int64_t step_id, unsigned quiet_ms);

/* Count one item as done. */
void progress_step(struct progress *progress);

void progress_end(struct progress *progress);

#endif
