/* SPDX-License-Identifier: Apache-2.0
 *
 * parked - requests that the engine does not accept now (IC_PARKED).
 *
 * They wait here, not in a worker: each source of requests (a virtqueue, the
 * mount) has a parked_queue, and a request's data is what its source needs to
 * handle it again from the start. The engine's decision, parked_release(),
 * makes the waiting requests ready in order of arrival; the source is woken and
 * takes them before new ones. A request is ready with an error if it must be
 * answered instead of handled again: its step was denied, it was interrupted,
 * or its client has gone.
 *
 * Their number and bytes are bounded for all queues of a server together; a
 * request beyond that fails with ENOSPC.
 *
 * Threads: any thread may make any call, except _free(). Takes its own lock,
 * and calls wake() with it held; no other call is made with it that takes
 * another lock.
 */
#ifndef DAEMON_PARKED_H
#define DAEMON_PARKED_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PARKED_MAX       10000u
#define PARKED_MAX_BYTES (256u << 20)

struct parked;
struct parked_queue;

struct parked_request {
    uint64_t unique; /* the client's id of it */
    gpointer data;
    size_t size;  /* bytes of data */
    bool is_lock; /* waits for a lock, not for the engine */
    int error;    /* 0: handle it again; -errno: reply with it */
};

struct parked *parked_new(void);

/* From now on parked_interrupt() interrupts only requests that wait for a
 * lock. */
void parked_hold_signals(struct parked *parked);

/* All queues must be freed. NULL is allowed. */
void parked_free(struct parked *parked);

/* The engine's decision: see ic_set_unparked(). */
void parked_release(struct parked *parked, int verdict);

/* Return the number of parked_release() calls: read it before a request is
 * handled, for parked_put(). */
uint64_t parked_releases(const struct parked *parked);

/* Interrupt a request, as the client no longer waits for it. If it is not
 * parked yet, the interrupt is remembered for a while. */
void parked_interrupt(struct parked *parked, uint64_t unique);

/* Make all waiting requests ready with this error: the client has gone. */
void parked_fail(struct parked *parked, int error);

/* wake (any thread, must not call back) is called when requests are ready;
 * free_data (may be NULL) frees the data of dropped ones. */
struct parked_queue *parked_queue_new(struct parked *parked,
                                      void (*wake)(void *opaque), void *opaque,
                                      GDestroyNotify free_data);

/* Drops the remaining requests. NULL is allowed. */
void parked_queue_free(struct parked_queue *queue);

/* Park a request that was tried when parked_releases() was releases. Return 0,
 * and data is taken; or the -errno to reply at once: -ENOSPC, -EPERM (denied in
 * the meantime), -EINTR. */
int parked_put(struct parked_queue *queue, uint64_t releases, uint64_t unique,
               gpointer data, size_t size);

/* The same for a request that waits for a lock, which denials do not affect. */
int parked_put_lock(struct parked_queue *queue, uint64_t releases,
                    uint64_t unique, gpointer data, size_t size);

/* Queue a request that can be handled now, but not by the thread that received
 * it. It is exempt from the bounds, so the caller must have one. */
void parked_put_ready(struct parked_queue *queue, gpointer data);

/* Take the next ready request; the caller owns its data. Return false if there
 * is none, which is cheap. */
bool parked_take(struct parked_queue *queue,
                 struct parked_request *ret_request);
bool parked_has_ready(const struct parked_queue *queue);

/* Return the number of requests, waiting or ready. */
unsigned parked_count(struct parked_queue *queue);

/* Drop all requests without a reply: no client waits for them. */
void parked_drop(struct parked_queue *queue);

#endif
