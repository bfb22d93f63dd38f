/* SPDX-License-Identifier: Apache-2.0
 *
 * open_writes - see open_writes.h.
 */
#include "interceptor/engine/open_writes.h"

#include <stdbool.h>

#define SPAN_SHIFT 32

static _Atomic uint64_t *count_of(struct open_writes *writes, uint32_t span)
{
    return &writes->counts[span % OPEN_WRITES_SPANS];
}

/* Return false, without a change, if the span is no longer known, or none of
 * its files is open. */
static bool change(struct open_writes *writes, uint32_t span, bool add)
{
    _Atomic uint64_t *count = count_of(writes, span);
    uint64_t value = atomic_load(count);

    do {
        if ((uint32_t)(value >> SPAN_SHIFT) != span ||
            (!add && (uint32_t)value == 0))
            return false;
    } while (!atomic_compare_exchange_weak(count, &value,
                                           add ? value + 1 : value - 1));
    return true;
}

void open_writes_init(struct open_writes *writes)
{
    pthread_mutex_init(&writes->lock, NULL);
}

void open_writes_clear(struct open_writes *writes)
{
    pthread_mutex_destroy(&writes->lock);
}

/* The lock is held. */
static uint32_t begin_span(struct open_writes *writes)
{
    uint32_t span = atomic_load(&writes->span) + 1;

    /* First the count: open_writes_add() finds the span's number there. */
    atomic_store(count_of(writes, span), (uint64_t)span << SPAN_SHIFT);
    atomic_store(&writes->span, span);
    return span;
}

void open_writes_begin_step(struct open_writes *writes)
{
    pthread_mutex_lock(&writes->lock);
    writes->step = begin_span(writes);
    pthread_mutex_unlock(&writes->lock);
}

uint32_t open_writes_end_step(struct open_writes *writes)
{
    uint32_t step;

    pthread_mutex_lock(&writes->lock);
    step = writes->step;
    if (atomic_load(&writes->span) == step)
        begin_span(writes);
    pthread_mutex_unlock(&writes->lock);
    return step;
}

uint32_t open_writes_count(struct open_writes *writes, uint32_t span)
{
    uint64_t value = atomic_load(count_of(writes, span));

    return (uint32_t)(value >> SPAN_SHIFT) == span ? (uint32_t)value : 0;
}

uint32_t open_writes_add(struct open_writes *writes)
{
    uint32_t span;

    do
        span = atomic_load(&writes->span);
    while (!change(writes, span, true));
    return span;
}

void open_writes_remove(struct open_writes *writes, uint32_t span)
{
    change(writes, span, false);
}
