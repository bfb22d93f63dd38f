/* SPDX-License-Identifier: Apache-2.0
 *
 * queue_worker - a virtqueue and its request handling.
 *
 * The queue's thread (queue_thread.h) handles requests in sequence. Requests
 * that may take long go to the queue's pool (queue_pool.h), and so do large
 * reads if other requests wait and the pool has time. So replies may be
 * reordered, and the used ring has a lock. Requests hold the nodes and handles
 * that they use, so a FORGET, RELEASE or DESTROY may overtake one safely.
 *
 * The front-end may change a running queue (another eventfd, other memory). So
 * the thread holds the gate for reading while it handles a bounded number of
 * requests, and every change is made with the gate held for writing.
 *
 * Requests that the engine does not accept now are parked (parked.h): only the
 * head is kept, and its descriptors are walked again later. Parked requests
 * survive a stop of the queue: a front-end also stops the rings to pause the
 * guest, which is likely while a decision is pending. When the ring starts
 * again, its indices show whether the guest still waits for them. The pool's
 * requests finish before the queue stops; those that it cannot handle, because
 * the queue was disabled or lost its memory in the meantime, are parked as
 * ready.
 *
 * Threads: all calls by the control thread.
 */
#ifndef VIRTIOFS_VHOST_QUEUE_WORKER_H
#define VIRTIOFS_VHOST_QUEUE_WORKER_H

#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "daemon/parked.h"
#include "virtiofs/fuse/fuse_server.h"
#include "virtiofs/vhost/queue_pool.h"
#include "virtiofs/vhost/queue_thread.h"
#include "virtiofs/vhost/virtqueue.h"

struct queue_worker {
    /* Guarded by the gate. */
    struct virtqueue vq;
    int call, err; /* eventfds; -1: none */
    bool enabled;
    bool polling; /* no kick eventfd: poll the ring */

    struct queue_thread *thread;
    pthread_rwlock_t *gate;     /* borrowed */
    struct fuse_server *server; /* borrowed */
    struct parked_queue *parked;
    struct queue_pool *pool;   /* NULL: none */
    pthread_mutex_t used_lock; /* guards the used ring */
    unsigned index;
    char name[16];      /* of the queue's thread */
    char pool_name[16]; /* of the pool's threads */
    int kick;
    bool running;
    struct queue_thread_work work;
};

/* All arguments are borrowed for the worker's lifetime. Return NULL and errno
 * on failure. */
struct queue_worker *
queue_worker_new(unsigned index, struct fuse_server *server, unsigned pool_size,
                 const struct guest_memory *memory, struct dirty_log *log,
                 pthread_rwlock_t *gate);

/* Stops the worker and drops requests that its pool has not begun. NULL is
 * allowed. */
void queue_worker_free(struct queue_worker *worker);

/* Start with this kick eventfd (taken; -1: poll), or change to it. The caller
 * must not hold the gate. Return 0 or -errno. */
int queue_worker_start(struct queue_worker *worker, int kick);

/* Finish the running requests, and end the threads. The caller must not hold
 * the gate, or the threads never end. */
void queue_worker_stop(struct queue_worker *worker);

/* Drop the parked requests of a queue that was mapped and starts, unless they
 * came on this very ring. */
void queue_worker_check_parked(struct queue_worker *worker);

/* Drop the parked requests: the guest has reset the device. */
void queue_worker_drop_parked(struct queue_worker *worker);

#endif
