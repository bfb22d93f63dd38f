/* SPDX-License-Identifier: Apache-2.0
 *
 * parking - changes that must wait, without a thread that waits in them.
 *
 * While a safeguard's decision is pending, or a rollback runs, no change may
 * be made. A server with a few workers and many clients must not lose a worker
 * to each change that waits: its calls return IC_PARKED at once and it calls
 * again, from the start, when told (ic_set_unparked()). Who has not registered
 * for that waits in the call.
 *
 * P1  A hold is taken away before seq grows and the callback is called. So who
 *     reads seq, then is told to wait, and finds seq unchanged, will be called.
 * P2  A verdict is of all that waited when it was given, also if the next hold
 *     (or none) stands by the time they look.
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
    PARKING_ROLLBACK = 1 << 0, /* the gate is, or will soon be, held for long */
    PARKING_DECISION = 1 << 1, /* a safeguard waits for its answer */
    PARKING_DENIED = 1 << 2,   /* a denied step is not closed yet: no changes */
};

struct parking {
    _Atomic unsigned holds; /* enum parking_hold */
    _Atomic uint64_t seq;   /* releases so far */
    pthread_mutex_t lock;
    pthread_cond_t cond; /* seq has grown */
    uint64_t denied_seq; /* the last release that denied */
    unsigned rollbacks;  /* that run or wait */
    void (*unparked)(int verdict, void *opaque); /* or NULL */
    void *opaque;
};

void parking_init(struct parking *parking);
void parking_clear(struct parking *parking);

/* This thread's changes wait in the call, whatever the server registered: for
 * what the engine does itself. Returns what it was before. */
bool parking_thread_waits(bool waits);

/* The holds that stand; one relaxed load. */
static inline unsigned parking_holds(const struct parking *parking)
{
    return atomic_load_explicit(&parking->holds, memory_order_relaxed);
}

/* A change begins and there are holds: 0 (go on; a hold was waited for),
 * IC_PARKED, or -EPERM (denied). With no lock held. */
int parking_pass(struct parking *parking);

/* For changes that a safeguard stops when they have begun: take seq before;
 * if it then ended with IC_PARKED in *rc, and the caller cannot park, wait.
 * True: begin it again. */
uint64_t parking_seq(const struct parking *parking);
bool parking_again(struct parking *parking, uint64_t seq, int *rc);

/* A rollback begins, before it takes the gate, and ends, after that. */
void parking_begin_rollback(struct parking *parking);
void parking_end_rollback(struct parking *parking);

/* A decision is pending; it is made. Denied: PARKING_DENIED stands until
 * parking_end_denied(). */
void parking_begin_decision(struct parking *parking);
void parking_end_decision(struct parking *parking, bool allowed);
void parking_end_denied(struct parking *parking);

#endif
