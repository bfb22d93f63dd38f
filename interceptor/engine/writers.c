/* SPDX-License-Identifier: Apache-2.0
 *
 * writers - see writers.h.
 */
#include "interceptor/engine/writers.h"

#include <stdbool.h>

#include "interceptor/engine/core.h"

#define SPAN_SHIFT 32

static _Atomic uint64_t *count_of(struct writers *writers, uint32_t span)
{
    return &writers->counts[span % WRITERS_SPANS];
}

/* Return false, without a change, if the span is no longer known, or none of
 * its files is open. */
static bool change(struct writers *writers, uint32_t span, bool add)
{
    _Atomic uint64_t *count = count_of(writers, span);
    uint64_t value = atomic_load(count);

    do {
        if ((uint32_t)(value >> SPAN_SHIFT) != span ||
            (!add && (uint32_t)value == 0))
            return false;
    } while (!atomic_compare_exchange_weak(count, &value,
                                           add ? value + 1 : value - 1));
    return true;
}

void writers_init(struct writers *writers)
{
    pthread_mutex_init(&writers->lock, NULL);
}

void writers_clear(struct writers *writers)
{
    pthread_mutex_destroy(&writers->lock);
}

/* The lock is held. */
static uint32_t begin_span(struct writers *writers)
{
    uint32_t span = atomic_load(&writers->span) + 1;

    /* First the count: ic_writer_add() finds the span's number there. */
    atomic_store(count_of(writers, span), (uint64_t)span << SPAN_SHIFT);
    atomic_store(&writers->span, span);
    return span;
}

void writers_begin_step(struct writers *writers)
{
    pthread_mutex_lock(&writers->lock);
    writers->step = begin_span(writers);
    pthread_mutex_unlock(&writers->lock);
}

uint32_t writers_end_step(struct writers *writers)
{
    uint32_t step;

    pthread_mutex_lock(&writers->lock);
    step = writers->step;
    if (atomic_load(&writers->span) == step)
        begin_span(writers);
    pthread_mutex_unlock(&writers->lock);
    return step;
}

uint32_t writers_count(struct writers *writers, uint32_t span)
{
    uint64_t value = atomic_load(count_of(writers, span));

    return (uint32_t)(value >> SPAN_SHIFT) == span ? (uint32_t)value : 0;
}

uint32_t ic_writer_add(struct ic *ic)
{
    uint32_t span;

    do
        span = atomic_load(&ic->writers.span);
    while (!change(&ic->writers, span, true));
    return span;
}

void ic_writer_remove(struct ic *ic, uint32_t writer)
{
    change(&ic->writers, writer, false);
}
