/* SPDX-License-Identifier: Apache-2.0
 *
 * queue_pool - threads that relieve a queue's own thread of long requests.
 *
 * The pool gets only the heads of chains: the guest's memory may be remapped
 * before a request starts, so its chain is walked when it starts. Threads are
 * started on demand. Requests need no allocation.
 *
 * Each queue has its own pool, so that queues share no lock.
 *
 * Threads: queue_pool_give() and queue_pool_has_time() by the queue's thread,
 * _done() by the pool's threads, and the others by the control thread when the
 * queue's thread has ended.
 */
#ifndef VIRTIOFS_VHOST_QUEUE_POOL_H
#define VIRTIOFS_VHOST_QUEUE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "virtiofs/fuse/fuse_request.h"
#include "virtiofs/vhost/virtqueue.h"

/* Capacity for requests that wait for a thread; the caller must handle any
 * further ones. */
#define QUEUE_POOL_BACKLOG 1024u

#define QUEUE_POOL_MAX_THREADS 1024

struct queue_pool;

/* The buffers for handling requests, one set for each thread. */
struct queue_hand {
    struct fuse_scratch *scratch;
    struct virtqueue_chain chain;
};

struct queue_hand *queue_hand_new(void);
void queue_hand_free(struct queue_hand *hand);

/* Called for each head. It calls queue_pool_done() when it is done with the
 * request. */
typedef void queue_pool_handle(void *opaque, struct queue_hand *hand,
                               uint16_t head);

/* Create a pool of at most max_threads threads; name and opaque are borrowed
 * for its lifetime. Return NULL for 0 threads: all functions treat NULL as a
 * pool that accepts nothing. */
struct queue_pool *queue_pool_new(const char *name, unsigned max_threads,
                                  queue_pool_handle *handle, void *opaque);

/* The pool must have no threads. */
void queue_pool_free(struct queue_pool *pool);

/* Return whether a thread is free. The answer may be outdated at once. */
bool queue_pool_has_time(const struct queue_pool *pool);

/* Return false if the backlog is full or no thread can be started. */
bool queue_pool_give(struct queue_pool *pool, uint16_t head);

/* Count a request as done. */
void queue_pool_done(struct queue_pool *pool);

/* Return the number of requests that were given and are not done. */
unsigned queue_pool_count(const struct queue_pool *pool);

/* Drop the requests that no thread has begun. */
void queue_pool_drop(struct queue_pool *pool);

/* Wait until all requests are done, and end the threads. */
void queue_pool_finish(struct queue_pool *pool);

#endif
