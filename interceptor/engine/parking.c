/* SPDX-License-Identifier: Apache-2.0
 *
 * parking - see parking.h.
 */
#include "interceptor/engine/parking.h"

#include <errno.h>

#include "interceptor/interceptor.h"

static _Thread_local bool thread_waits;

void parking_init(struct parking *parking)
{
    pthread_mutex_init(&parking->lock, NULL);
    pthread_cond_init(&parking->cond, NULL);
}

void parking_clear(struct parking *parking)
{
    pthread_cond_destroy(&parking->cond);
    pthread_mutex_destroy(&parking->lock);
}

bool parking_thread_waits(bool waits)
{
    bool before = thread_waits;

    thread_waits = waits;
    return before;
}

/* ---- waiting ------------------------------------------------------------- */

static bool can_return_locked(const struct parking *parking)
{
    return parking->unparked && !thread_waits;
}

/* Wait for the release after seq; return its verdict. */
static int wait_locked(struct parking *parking, uint64_t seq)
{
    while (parking->seq == seq)
        pthread_cond_wait(&parking->cond, &parking->lock);
    return parking->denied_seq > seq ? -EPERM : 0;
}

int parking_pass(struct parking *parking)
{
    int rc = 0;

    pthread_mutex_lock(&parking->lock);
    while (rc == 0 && parking->holds != 0) {
        if (parking->holds & PARKING_DENIED)
            rc = -EPERM;
        else if (can_return_locked(parking))
            rc = IC_PARKED;
        else if (parking->holds & PARKING_DECISION)
            rc = wait_locked(parking, parking->seq);
        else
            break; /* the gate blocks it instead */
    }
    pthread_mutex_unlock(&parking->lock);
    return rc;
}

uint64_t parking_seq(const struct parking *parking)
{
    return atomic_load_explicit(&parking->seq, memory_order_acquire);
}

bool parking_again(struct parking *parking, uint64_t seq, int *rc)
{
    if (*rc != IC_PARKED)
        return false;
    pthread_mutex_lock(&parking->lock);
    if (!can_return_locked(parking))
        *rc = wait_locked(parking, seq);
    pthread_mutex_unlock(&parking->lock);
    return *rc == 0;
}

/* ---- holds --------------------------------------------------------------- */

/* Let the waiting changes go on, or (verdict -EPERM) fail. */
static void release_locked(struct parking *parking, int verdict)
{
    parking->seq++;
    if (verdict < 0)
        parking->denied_seq = parking->seq;
    pthread_cond_broadcast(&parking->cond);
    if (parking->unparked)
        parking->unparked(verdict, parking->opaque);
}

void parking_begin_rollback(struct parking *parking)
{
    pthread_mutex_lock(&parking->lock);
    parking->rollbacks++;
    parking->holds |= PARKING_ROLLBACK;
    pthread_mutex_unlock(&parking->lock);
}

void parking_end_rollback(struct parking *parking)
{
    pthread_mutex_lock(&parking->lock);
    if (--parking->rollbacks == 0) {
        parking->holds &= ~(unsigned)PARKING_ROLLBACK;
        release_locked(parking, 0);
    }
    pthread_mutex_unlock(&parking->lock);
}

void parking_begin_decision(struct parking *parking)
{
    pthread_mutex_lock(&parking->lock);
    parking->holds |= PARKING_DECISION;
    pthread_mutex_unlock(&parking->lock);
}

void parking_end_decision(struct parking *parking, bool allowed)
{
    pthread_mutex_lock(&parking->lock);
    parking->holds &= ~(unsigned)PARKING_DECISION;
    if (!allowed)
        parking->holds |= PARKING_DENIED;
    release_locked(parking, allowed ? 0 : -EPERM);
    pthread_mutex_unlock(&parking->lock);
}

void parking_end_denied(struct parking *parking)
{
    pthread_mutex_lock(&parking->lock);
    parking->holds &= ~(unsigned)PARKING_DENIED;
    pthread_mutex_unlock(&parking->lock);
}
