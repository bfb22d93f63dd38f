/* SPDX-License-Identifier: Apache-2.0
 *
 * queue_pool - threads that take what is long from a queue's own thread.
 *
 * They are given the heads of chains and no more: until one is begun, the
 * guest's memory may have moved, and so it is walked then. There are no threads
 * until there is something for them. Nothing is allocated for a request.
 *
 * Each queue has a pool of its own, so that queues share no lock.
 *
 * Threads: queue_pool_give() and queue_pool_has_time() by the queue's thread,
 * _done() by those of the pool, and the others by the control thread when the
 * queue's thread has ended.
 */
#ifndef VIRTIOFS_VHOST_QUEUE_POOL_H
#define VIRTIOFS_VHOST_QUEUE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "virtiofs/fuse/fuse_request.h"
#include "virtiofs/vhost/virtqueue.h"

/* Requests that wait for a thread; what is more has to be done elsewhere. */
#define QUEUE_POOL_BACKLOG 1024u

#define QUEUE_POOL_MAX_THREADS 1024

struct queue_pool;

/* What handling a request takes, one for each thread. */
struct queue_hand {
    struct fuse_scratch *scratch;
    struct virtqueue_chain chain;
};

struct queue_hand *queue_hand_new(void);
void queue_hand_free(struct queue_hand *hand);

/* Called for each head. It calls queue_pool_done() when the request is out of
 * its hands. */
typedef void queue_pool_handle(void *opaque, struct queue_hand *hand,
                               uint16_t head);

/* A pool of so many threads at most; name and opaque are borrowed for its life.
 * NULL if that is 0: all functions take it for a pool that takes nothing. */
struct queue_pool *queue_pool_new(const char *name, unsigned max_threads,
                                  queue_pool_handle *handle, void *opaque);

/* Must have no threads. */
void queue_pool_free(struct queue_pool *pool);

/* Is a thread free? Another request may be ended meanwhile. */
bool queue_pool_has_time(const struct queue_pool *pool);

/* False: it has too much to do. */
bool queue_pool_give(struct queue_pool *pool, uint16_t head);

/* One less to do. */
void queue_pool_done(struct queue_pool *pool);

/* How many were given and are not done. */
unsigned queue_pool_count(const struct queue_pool *pool);

/* Forget what nobody has begun. */
void queue_pool_drop(struct queue_pool *pool);

/* Wait until all is done, and end the threads. */
void queue_pool_finish(struct queue_pool *pool);

#endif
