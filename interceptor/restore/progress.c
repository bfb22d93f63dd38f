/* SPDX-License-Identifier: Apache-2.0
 *
 * progress - see progress.h.
 */
#include "interceptor/restore/progress.h"

#include <jansson.h>

#include "interceptor/sys/clock.h"

enum { QUIET_MS = 1000, EVERY_MS = 500 };

void progress_start(struct progress *progress, struct events *events,
                    const char *operation, int64_t step_id, unsigned quiet_ms)
{
    *progress = (struct progress){
        .events = events,
        .operation = operation,
        .step_id = step_id,
        .next_ms = clock_ms() + (quiet_ms ? quiet_ms : QUIET_MS),
    };
}

static void tell(struct progress *progress)
{
    events_send(progress->events, "event.progress",
                json_pack("{s:s, s:I, s:I, s:I}", "operation",
                          progress->operation, "step_id",
                          (json_int_t)progress->step_id, "done",
                          (json_int_t)progress->done, "total",
                          (json_int_t)progress->total));
    progress->told = true;
}

void progress_step(struct progress *progress)
{
    int64_t now;

    progress->done++;
    if (!progress->events)
        return;
    now = clock_ms();
    if (now < progress->next_ms)
        return;
    progress->next_ms = now + EVERY_MS;
    tell(progress);
}

void progress_end(struct progress *progress)
{
    if (!progress->told)
        return;
    progress->done = progress->total;
    tell(progress);
}
