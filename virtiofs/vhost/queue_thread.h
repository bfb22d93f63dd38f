/* SPDX-License-Identifier: Apache-2.0
 *
 * queue_thread - the thread of a queue: it waits for kicks, and has what they
 * bring handled.
 *
 * Kicks come through an edge-triggered epoll: each write to an eventfd is a
 * new edge, so nobody has to read it, and a request costs one system call to
 * wait for and one to signal.
 *
 * The high-priority queue (Virtio 1.2, 5.11.2) brings what is quickly done and
 * must not wait behind the requests: FORGET and INTERRUPT. Its thread asks for
 * short turns (common/short_turns.h).
 *
 * Threads: all calls by the control thread, but queue_thread_wake() by any.
 */
#ifndef VIRTIOFS_VHOST_QUEUE_THREAD_H
#define VIRTIOFS_VHOST_QUEUE_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>

#include "virtiofs/vhost/queue_pool.h"

struct queue_thread;

/* Whose thread it is; borrowed. */
struct queue_thread_work {
    const char *name;
    bool is_urgent; /* the high-priority queue's */

    /* End soon. */
    atomic_bool stop;

    /* Handle some requests. True: there may be more. *ret_polls: there is no
     * kick, so look again soon. */
    bool (*run)(struct queue_hand *hand, bool *ret_polls, void *opaque);
    void *opaque;
};

/* work is whole before the thread starts. NULL and errno. */
struct queue_thread *queue_thread_new(struct queue_thread_work *work);

/* It does not run. NULL is allowed. */
void queue_thread_free(struct queue_thread *thread);

/* An eventfd, borrowed until it is taken out again. 0 or -errno. */
int queue_thread_watch(struct queue_thread *thread, int fd);
void queue_thread_unwatch(struct queue_thread *thread, int fd);

/* Start it, or let it look if it runs. 0 or -errno. */
int queue_thread_start(struct queue_thread *thread);

/* End it: it runs, and the worker is told to stop. The gate (queue_worker.h)
 * must not be held, or it never ends. */
void queue_thread_join(struct queue_thread *thread);

/* Look at the queue again, after something changed. */
void queue_thread_wake(struct queue_thread *thread);

#endif
