/* SPDX-License-Identifier: Apache-2.0
 *
 * queue_worker - a virtqueue with its thread, which waits for kicks and
 * handles the queue's requests one after the other.
 *
 * The front-end may change a queue while it runs (another eventfd, other
 * memory). So the thread handles requests only with the gate held for reading,
 * for a bounded number of them, and every change is made with the gate held
 * for writing.
 *
 * Requests that the engine does not take now are parked (parked.h): of each
 * its head is kept, and its descriptors are walked again later. They stay when
 * the thread is stopped: a front-end stops the rings also to pause the guest,
 * which is just what somebody may do while a decision is pending. When the ring
 * starts again, it shows itself whether the guest still waits for them.
 *
 * Threads: all calls by the control thread, but queue_worker_wake() by any.
 */
#ifndef VIRTIOFS_QUEUE_WORKER_H
#define VIRTIOFS_QUEUE_WORKER_H

#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "daemon/parked.h"
#include "virtiofs/fuse_server.h"
#include "virtiofs/virtqueue.h"

struct queue_worker {
    /* The gate. */
    struct virtqueue vq;
    int call, err; /* eventfds; -1: none */
    bool enabled;
    bool polling; /* there is no kick eventfd: look by ourselves */

    pthread_rwlock_t *gate;     /* borrowed */
    struct fuse_server *server; /* borrowed */
    struct parked_queue *parked;
    unsigned index;
    int kick;
    int wake; /* eventfd of our own */
    int epoll;
    atomic_bool stop;
    GThread *thread; /* NULL: stopped */
};

/* Everything is borrowed for the worker's life. NULL and errno. */
struct queue_worker *queue_worker_new(unsigned index,
                                      struct fuse_server *server,
                                      const struct guest_memory *memory,
                                      struct dirty_log *log,
                                      pthread_rwlock_t *gate);

/* Stops it. NULL is allowed. */
void queue_worker_free(struct queue_worker *worker);

/* Start with this kick eventfd (taken; -1: poll), or change to it. The gate
 * must not be held. 0 or -errno. */
int queue_worker_start(struct queue_worker *worker, int kick);

/* Finish the request in work and end the thread. The gate must not be held,
 * or the thread never ends. */
void queue_worker_stop(struct queue_worker *worker);

/* The queue was mapped and starts: forget the parked requests unless it is the
 * ring on which they came. */
void queue_worker_check_parked(struct queue_worker *worker);

/* Forget them: the guest has reset the device. */
void queue_worker_drop_parked(struct queue_worker *worker);

/* Look at the queue again, after something changed. */
void queue_worker_wake(struct queue_worker *worker);

#endif
