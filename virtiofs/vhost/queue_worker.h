/* SPDX-License-Identifier: Apache-2.0
 *
 * queue_worker - a virtqueue, the requests of which its thread (queue_thread.h)
 * handles one after the other. What may take long is given to the queue's pool
 * (queue_pool.h), and what reads much is, if others wait behind it and the pool
 * has time. So answers may come in another order than requests, and the used
 * ring has a lock. Requests hold what they use (nodes, handles), so a FORGET,
 * RELEASE or DESTROY that overtakes one harms nobody.
 *
 * The front-end may change a queue while it runs (another eventfd, other
 * memory). So the thread handles requests only with the gate held for reading,
 * for a bounded number of them, and every change is made with the gate held
 * for writing.
 *
 * Requests that the engine does not take now are parked (parked.h): of each
 * its head is kept, and its descriptors are walked again later. They stay when
 * the queue is stopped: a front-end stops the rings also to pause the guest,
 * which is just what somebody may do while a decision is pending. When the ring
 * starts again, it shows itself whether the guest still waits for them. What
 * the pool has is done before the queue stops; what it cannot do, as the queue
 * was disabled or lost its memory meanwhile, is parked as ready.
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
    /* The gate. */
    struct virtqueue vq;
    int call, err; /* eventfds; -1: none */
    bool enabled;
    bool polling; /* there is no kick eventfd: look by ourselves */

    struct queue_thread *thread;
    pthread_rwlock_t *gate;     /* borrowed */
    struct fuse_server *server; /* borrowed */
    struct parked_queue *parked;
    struct queue_pool *pool;   /* NULL: none */
    pthread_mutex_t used_lock; /* the used ring */
    unsigned index;
    char name[16];      /* of its thread */
    char pool_name[16]; /* of those of the pool */
    int kick;
    bool running;
    struct queue_thread_work work;
};

/* Everything is borrowed for the worker's life. NULL and errno. */
struct queue_worker *
queue_worker_new(unsigned index, struct fuse_server *server, unsigned pool_size,
                 const struct guest_memory *memory, struct dirty_log *log,
                 pthread_rwlock_t *gate);

/* Stops it; what its pool has not begun is dropped. NULL is allowed. */
void queue_worker_free(struct queue_worker *worker);

/* Start with this kick eventfd (taken; -1: poll), or change to it. The gate
 * must not be held. 0 or -errno. */
int queue_worker_start(struct queue_worker *worker, int kick);

/* Finish the requests in work, and end the threads. The gate must not be held,
 * or they never end. */
void queue_worker_stop(struct queue_worker *worker);

/* The queue was mapped and starts: forget the parked requests unless it is the
 * ring on which they came. */
void queue_worker_check_parked(struct queue_worker *worker);

/* Forget them: the guest has reset the device. */
void queue_worker_drop_parked(struct queue_worker *worker);

#endif
