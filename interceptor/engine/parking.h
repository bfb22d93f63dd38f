/* SPDX-License-Identifier: Apache-2.0
 *
 * parking - let changes wait without blocking a thread.
 *
 * While a safeguard's decision is pending, or a rollback runs, no change may be
 * made. A server with a few workers and many clients must not lose a worker to
 * each waiting change: its calls return IC_PARKED at once, and it repeats them
 * when the callback says so (ic_set_unparked()). A server without a callback
 * waits in the call.
 *
 * P1  A hold is removed before seq grows and the callback runs. So a thread
 *     that reads seq, is then told to wait, and finds seq unchanged, will be
 *     called back.
 * P2  A verdict applies to all changes that waited when it was given, even if
 *     another hold (or none) is in place by the time they look.
 *
 * Locks: lock is a leaf below the engine's and the safeguards' locks; the
 * callback runs with it held. holds is written under it and read without.
 */
#ifndef INTERCEPTOR_ENGINE_PARKING_H
#define INTERCEPTOR_ENGINE_PARKING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum parking_hold {
    PARKING_ROLLBACK =
        1 << 0, /* the gate is, or soon will be, locked for long */
    PARKING_DECISION = 1 << 1, /* a safeguard waits for its answer */
    PARKING_DENIED = 1 << 2,   /* a denied step is not closed yet: no changes */
};

struct parking {
    _Atomic unsigned holds; /* enum parking_hold */
    _Atomic uint64_t seq;   /* releases so far */
    pthread_mutex_t lock;
    pthread_cond_t cond; /* signals that seq has grown */
    uint64_t denied_seq; /* of the last release that denied */
    unsigned rollbacks;  /* running or waiting */
    void (*unparked)(int verdict, void *opaque); /* or NULL */
    void *opaque;
};

void parking_init(struct parking *parking);
void parking_clear(struct parking *parking);

/* Let this thread's changes wait in the call, regardless of a callback: for the
 * engine's own changes. Returns the former value. */
bool parking_thread_waits(bool waits);

/* Return the current holds; one relaxed load. */
static inline unsigned parking_holds(const struct parking *parking)
{
    return atomic_load_explicit(&parking->holds, memory_order_relaxed);
}

/* A change begins while there are holds. Returns 0 (go on; a hold was waited
 * for), IC_PARKED, or -EPERM (denied). With no lock held. */
int parking_pass(struct parking *parking);

/* For changes that a safeguard stops after they began: read seq before; if the
 * change then ended with IC_PARKED in *rc, and the caller cannot park, wait.
 * True: repeat the change. */
uint64_t parking_seq(const struct parking *parking);
bool parking_again(struct parking *parking, uint64_t seq, int *rc);

/* Call before a rollback takes the gate, and after it has released it. */
void parking_begin_rollback(struct parking *parking);
void parking_end_rollback(struct parking *parking);

/* A decision becomes pending; it is made. Denied: PARKING_DENIED stays until
 * parking_end_denied(). */
void parking_begin_decision(struct parking *parking);
void parking_end_decision(struct parking *parking, bool allowed);
void parking_end_denied(struct parking *parking);

#endif
