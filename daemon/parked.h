/* SPDX-License-Identifier: Apache-2.0
 *
 * parked - requests that the engine does not take now (IC_PARKED).
 *
 * They wait here, not in a worker: each source of requests (a virtqueue, the
 * mount) has a parked_queue, and what it needs to handle a request again from
 * its start is that request's data. The engine's word, parked_release(), makes
 * those that wait ready, in the order in which they came; the source is woken
 * and takes them back before it looks for new ones. A request is ready with an
 * error if it is not to be handled again but answered: its step was denied, its
 * client was interrupted or has gone.
 *
 * Their number and bytes are bounded for all queues of a server together; what
 * is too much gets ENOSPC.
 *
 * Threads: every call by any thread, but _free(). Takes a lock of its own, in
 * which wake() is called; nothing is called with it that takes another.
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
    uint64_t unique; /* the client's number of it */
    gpointer data;
    size_t size;  /* bytes that data takes */
    bool is_lock; /* it waits for a lock, and not for the engine */
    int error;    /* 0: handle it again; -errno: answer that */
};

struct parked *parked_new(void);

/* All queues must be gone. NULL is allowed. */
void parked_free(struct parked *parked);

/* The engine's word: see ic_set_unparked(). */
void parked_release(struct parked *parked, int verdict);

/* How often that was called: read before a request is handled, for
 * parked_put(). */
uint64_t parked_releases(const struct parked *parked);

/* The client does not want to wait for this request any longer. If it is not
 * parked yet, that is remembered for a while. */
void parked_interrupt(struct parked *parked, uint64_t unique);

/* The client is gone: all that wait are to be answered with this error. */
void parked_fail(struct parked *parked, int error);

/* wake (any thread, must not call back) is called when requests are ready;
 * free_data (may be NULL) for those that are dropped. */
struct parked_queue *parked_queue_new(struct parked *parked,
                                      void (*wake)(void *opaque), void *opaque,
                                      GDestroyNotify free_data);

/* Drops what is left. NULL is allowed. */
void parked_queue_free(struct parked_queue *queue);

/* Keep a request that was tried after so many releases: 0, and data is taken.
 * Or -errno, with which it is to be answered now: -ENOSPC, -EPERM (it was
 * denied meanwhile), -EINTR. */
int parked_put(struct parked_queue *queue, uint64_t releases, uint64_t unique,
               gpointer data, size_t size);

/* Likewise, when it waits for a lock: what is denied is no business of it. */
int parked_put_lock(struct parked_queue *queue, uint64_t releases,
                    uint64_t unique, gpointer data, size_t size);

/* Keep a request that may be handled, but not by whom it came to. It counts
 * beside the bounds, so the caller has one. */
void parked_put_ready(struct parked_queue *queue, gpointer data);

/* The next that is ready; its data is the caller's. False: none. Cheap if
 * there is none. */
bool parked_take(struct parked_queue *queue,
                 struct parked_request *ret_request);
bool parked_has_ready(const struct parked_queue *queue);

/* How many there are, waiting or ready. */
unsigned parked_count(struct parked_queue *queue);

/* Forget them all, unanswered: nobody waits for them. */
void parked_drop(struct parked_queue *queue);

#endif
