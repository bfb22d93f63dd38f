/* SPDX-License-Identifier: Apache-2.0
 *
 * queue_thread - a thread that waits for the kicks of one queue or two, and
 * handles what they bring (queue_worker_run()).
 *
 * Two are the high-priority queue and the first queue for requests (Virtio
 * 1.2, 5.11.2). With threads of their own each FORGET would be a switch to the
 * one and back to the other, which costs more than to forget. The one that was
 * added first goes first: it is looked at before each request of the other. So
 * the high-priority queue waits for one request at most, and what takes long
 * is done by that queue's pool (queue_pool.h).
 *
 * Kicks come through an edge-triggered epoll: each write to an eventfd is a
 * new edge, so nobody has to read it, and a request costs one system call to
 * wait for and one to signal.
 *
 * Threads: all calls by the control thread, but queue_thread_wake() by any.
 */
#ifndef VIRTIOFS_QUEUE_THREAD_H
#define VIRTIOFS_QUEUE_THREAD_H

#include <pthread.h>

struct queue_thread;
struct queue_worker;

/* name (at most 15 bytes) is copied; the gate (queue_worker.h) is borrowed. It
 * does not run yet. NULL and errno. */
struct queue_thread *queue_thread_new(const char *name, pthread_rwlock_t *gate);

/* Must have no queue that runs. NULL is allowed. */
void queue_thread_free(struct queue_thread *thread);

/* One of its queues, borrowed until it is removed. The gate must not be
 * held. */
void queue_thread_add(struct queue_thread *thread, struct queue_worker *worker);
void queue_thread_remove(struct queue_thread *thread,
                         struct queue_worker *worker);

/* An eventfd, borrowed until it is taken out again. 0 or -errno. */
int queue_thread_watch(struct queue_thread *thread, int fd);
void queue_thread_unwatch(struct queue_thread *thread, int fd);

/* A queue of it runs now: start the thread, or let it look. 0 or -errno. */
int queue_thread_start(struct queue_thread *thread);

/* End the thread if none of its queues runs. The gate must not be held, or it
 * never ends. */
void queue_thread_stop(struct queue_thread *thread);

/* Look at the queues again, after something changed. */
void queue_thread_wake(struct queue_thread *thread);

#endif
