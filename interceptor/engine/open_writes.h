/* SPDX-License-Identifier: Apache-2.0
 *
 * open_writes - count the client's files that are open for writing.
 *
 * A client's kernel may write after the process that wrote has ended, but only
 * to a file that is still open here. Time is divided into spans: one begins
 * with each step, one when the step's processes have ended. Each span has a
 * count of the files that were opened in it and are still open. Only the newest
 * OPEN_WRITES_SPANS are known; older ones count as closed.
 *
 * Threads: any thread may make any call. Adding and removing take no lock.
 */
#ifndef INTERCEPTOR_ENGINE_OPEN_WRITES_H
#define INTERCEPTOR_ENGINE_OPEN_WRITES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define OPEN_WRITES_SPANS 4

struct open_writes {
    pthread_mutex_t lock; /* held to begin a span; guards step */
    uint32_t step;        /* the span that began with the step */
    _Atomic uint32_t span;
    /* The span's number in the upper half, its open files in the lower. */
    _Atomic uint64_t counts[OPEN_WRITES_SPANS];
};

void open_writes_init(struct open_writes *writes);
void open_writes_clear(struct open_writes *writes);

/* Count a file that was opened, until it is closed. open_writes_add() returns
 * the span for open_writes_remove(). */
uint32_t open_writes_add(struct open_writes *writes);
void open_writes_remove(struct open_writes *writes, uint32_t span);

void open_writes_begin_step(struct open_writes *writes);

/* The step's processes have ended; further calls for the step have no effect.
 * Return the step's span. */
uint32_t open_writes_end_step(struct open_writes *writes);

/* Return how many of the files that were opened in this span are open. */
uint32_t open_writes_count(struct open_writes *writes, uint32_t span);

#endif
