/* SPDX-License-Identifier: Apache-2.0
 *
 * queue_thread - the thread of a queue: waits for kicks and has their requests
 * handled.
 *
 * Kicks arrive through an edge-triggered epoll: each write to an eventfd is a
 * new edge, so the eventfd need not be read, and a request costs one system
 * call to wait for and one to signal.
 *
 * The high-priority queue (Virtio 1.2, 5.11.2) carries short requests that must
 * not wait behind the others: FORGET and INTERRUPT. Its thread requests short
 * turns (common/short_turns.h).
 *
 * Threads: all calls by the control thread, except queue_thread_wake(), by any
 * thread.
 */
#ifndef VIRTIOFS_VHOST_QUEUE_THREAD_H
#define VIRTIOFS_VHOST_QUEUE_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>

#include "virtiofs/vhost/queue_pool.h"

struct queue_thread;

/* The owner's part of a thread; borrowed. */
struct queue_thread_work {
    const char *name;
    bool is_urgent; /* of the high-priority queue */

    /* Set to make the thread end soon. */
    atomic_bool stop;

    /* Handle some requests. Return true if there may be more. *ret_polls: the
     * queue has no kick eventfd, so poll again soon. */
    bool (*run)(struct queue_hand *hand, bool *ret_polls, void *opaque);
    void *opaque;
};

/* Create a stopped thread; work may be completed until queue_thread_start().
 * Return NULL and errno on failure. */
struct queue_thread *queue_thread_new(struct queue_thread_work *work);

/* The thread must not be running. NULL is allowed. */
void queue_thread_free(struct queue_thread *thread);

/* Watch an eventfd, borrowed until queue_thread_unwatch(). Return 0 or
 * -errno. */
int queue_thread_watch(struct queue_thread *thread, int fd);
void queue_thread_unwatch(struct queue_thread *thread, int fd);

/* Start the thread, or wake it if it runs. Return 0 or -errno. */
int queue_thread_start(struct queue_thread *thread);

/* Wait for the running thread's end; work->stop must be set. The caller must
 * not hold the gate (queue_worker.h), or the thread never ends. */
void queue_thread_join(struct queue_thread *thread);

/* Make the thread look at the queue again after a change. */
void queue_thread_wake(struct queue_thread *thread);

#endif
