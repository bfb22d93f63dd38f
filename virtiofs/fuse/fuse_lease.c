/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_lease - see fuse_lease.h.
 *
 * S1 needs no lock: grant() notes its time before it reads the number of
 * revocations, and tell() increments that number before it reads the time. So
 * either the reply has no lease, or tell() waits for it.
 *
 * S2's time is the client's: a guest that is paused after a change still has
 * its leases when it goes on.
 */
#include "virtiofs/fuse/fuse_lease.h"

#include <errno.h>
#include <glib.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "virtiofs/fuse/fuse_config.h"

enum {
    /* From a reply's preparation until the client has processed it, with ticks
     * of both clocks. */
    MARGIN_MS = 50,
    GUARD_MS = 2000,
    LONG_MS = FUSE_LEASE_LONG_S * 1000,
    RETRY_MS = 5000, /* a refused request is repeated at once */
    N_RETRIES = 256,
    N_SEEN = 16,
};

/* A refused request that its thread repeats. */
struct retry {
    uint32_t thread;
    int64_t refused_ms; /* active_ms; 0: none */
    uint64_t n_own;     /* ic_stale_count() at that time */
    bool accepted;      /* the repetition is handled */
    unsigned n_seen;
    uint64_t seen[N_SEEN]; /* nodes of the lookups since then; a ring */
};

struct fuse_lease {
    struct ic *ic;
    int64_t duration_ms;
    _Atomic uint64_t revocations;
    _Atomic int64_t granted_ms; /* the last lease */
    _Atomic int64_t loose_ms;   /* the last for what is not watched */
    _Atomic int64_t due_ms;     /* end of those that a change contradicts */
    _Atomic int64_t settled_ms; /* the same, if the client was paused */

    /* The client's time: gaps between its requests count little. Starts at 1.
     */
    _Atomic int64_t active_ms, request_ms;
    _Atomic uint64_t n_changes; /* for which the guard has begun */
    _Atomic int64_t guard_ms;   /* its end, in active_ms */

    const struct fuse_lease_teller *teller; /* or NULL */
    void *opaque;                           /* of the teller */
    atomic_bool reached;

    pthread_mutex_t lock; /* guards retries */
    struct retry retries[N_RETRIES];
};

/* Of the request that this thread handles. */
static _Thread_local uint64_t begun_at;

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct fuse_lease *fuse_lease_new(struct ic *ic, double seconds)
{
    struct fuse_lease *lease = g_new0(struct fuse_lease, 1);

    lease->ic = ic;
    lease->duration_ms = (int64_t)(seconds * 1000) + 1;
    lease->active_ms = 1;
    lease->request_ms = now_ms();
    pthread_mutex_init(&lease->lock, NULL);
    return lease;
}

void fuse_lease_free(struct fuse_lease *lease)
{
    if (!lease)
        return;
    pthread_mutex_destroy(&lease->lock);
    g_free(lease);
}

/* ---- leases -------------------------------------------------------------- */

static void raise_to(_Atomic int64_t *time, int64_t value)
{
    int64_t before = atomic_load(time);

    while (before < value &&
           !atomic_compare_exchange_weak(time, &before, value))
        ;
}

void fuse_lease_begin(struct fuse_lease *lease)
{
    int64_t now, gap;

    if (!lease)
        return;
    begun_at = atomic_load(&lease->revocations);
    now = now_ms();
    gap = now - atomic_load_explicit(&lease->request_ms, memory_order_relaxed);
    if (gap <= 0)
        return;
    gap = now - atomic_exchange(&lease->request_ms, now);
    if (gap > 0)
        atomic_fetch_add(&lease->active_ms,
                         MIN(gap, lease->duration_ms + MARGIN_MS));
}

bool fuse_lease_grant(struct fuse_lease *lease, bool watched)
{
    int64_t now = now_ms();

    if (!ic_stale_is_reported(lease->ic))
        return false;
    raise_to(&lease->granted_ms, now);
    if (!watched)
        raise_to(&lease->loose_ms, now);
    return atomic_load(&lease->revocations) == begun_at;
}

bool fuse_lease_is_long(const struct fuse_lease *lease)
{
    return atomic_load_explicit(&lease->reached, memory_order_relaxed) &&
           atomic_load(&lease->revocations) == begun_at;
}

/* Return when leases granted until this time have ended; 0: none was. */
static int64_t end_of(const struct fuse_lease *lease, int64_t granted_ms)
{
    return granted_ms ? granted_ms + lease->duration_ms + MARGIN_MS : 0;
}

void fuse_lease_tell(const struct ic_stale *list, size_t n, bool wait,
                     void *opaque)
{
    struct fuse_lease *lease = opaque;
    int64_t left, until;

    if (n == 1 && list->dirty) /* a guest cannot be notified */
        return;
    atomic_fetch_add(&lease->revocations, 1);
    if (n > 0)
        raise_to(&lease->due_ms, end_of(lease, lease->granted_ms));
    if (lease->teller)
        lease->teller->tell(list, n, wait, lease->opaque);
    if (!wait)
        return;
    raise_to(&lease->due_ms, end_of(lease, lease->loose_ms));
    until = MAX(lease->due_ms, n > 0 ? 0 : lease->settled_ms);
    while ((left = until - now_ms()) > 0)
        g_usleep((gulong)left * 1000);
    /* A client whose safeguard was asked was paused until now. */
    if (n > 0)
        raise_to(&lease->settled_ms, end_of(lease, now_ms()));
}

void fuse_lease_set_teller(struct fuse_lease *lease,
                           const struct fuse_lease_teller *teller, void *opaque)
{
    lease->teller = teller;
    lease->opaque = opaque;
}

void fuse_lease_keep_long(struct fuse_lease *lease, bool can)
{
    bool could = atomic_exchange(&lease->reached, can);
    int64_t end = lease->active_ms + lease->duration_ms + GUARD_MS;

    if (could && !can)
        raise_to(&lease->guard_ms, lease->active_ms + LONG_MS + GUARD_MS);
    if (can && lease->guard_ms > end)
        atomic_store(&lease->guard_ms, end);
}

/* ---- the guard ----------------------------------------------------------- */

bool fuse_lease_guards(struct fuse_lease *lease)
{
    uint64_t n_changes = ic_stale_count(lease->ic, NULL);
    bool is_busy = lease->teller && lease->teller->is_busy(lease->opaque);

    /* The end first: another thread must not see only the number. */
    if (lease->n_changes != n_changes || is_busy) {
        raise_to(&lease->guard_ms,
                 lease->active_ms + lease->duration_ms + GUARD_MS);
        atomic_store(&lease->n_changes, n_changes);
    }
    return lease->active_ms < lease->guard_ms;
}

static struct retry *retry_of(struct fuse_lease *lease, uint32_t thread)
{
    return &lease->retries[thread % N_RETRIES];
}

static bool is_pending(const struct fuse_lease *lease,
                       const struct retry *retry, uint32_t thread)
{
    uint64_t n_own;

    ic_stale_count(lease->ic, &n_own);
    return retry->refused_ms != 0 && retry->thread == thread &&
           retry->n_own == n_own &&
           lease->active_ms - retry->refused_ms < RETRY_MS;
}

static bool has_seen(const struct retry *retry, uint64_t node)
{
    for (unsigned i = 0; i < MIN(retry->n_seen, N_SEEN); i++) {
        if (retry->seen[i] == node)
            return true;
    }
    return node == FUSE_ROOT_ID;
}

int fuse_lease_check(struct fuse_lease *lease, uint32_t thread, uint64_t node,
                     uint64_t other)
{
    struct retry *retry = retry_of(lease, thread);
    int r = -ESTALE;

    if (node == FUSE_ROOT_ID && other == FUSE_ROOT_ID)
        return 0; /* no name leads to it */
    pthread_mutex_lock(&lease->lock);
    if (is_pending(lease, retry, thread) &&
        (retry->n_seen == 0 ||
         (has_seen(retry, node) && has_seen(retry, other)))) {
        retry->accepted = true;
        r = 0;
    } else {
        *retry = (struct retry){ .thread = thread,
                                 .refused_ms = lease->active_ms };
        ic_stale_count(lease->ic, &retry->n_own);
    }
    pthread_mutex_unlock(&lease->lock);
    return r;
}

void fuse_lease_settle(struct fuse_lease *lease, uint32_t thread)
{
    struct retry *retry;

    if (!lease || !fuse_lease_guards(lease))
        return;
    retry = retry_of(lease, thread);
    pthread_mutex_lock(&lease->lock);
    if (retry->thread == thread && retry->accepted)
        *retry = (struct retry){ 0 };
    pthread_mutex_unlock(&lease->lock);
}

static void add_seen(struct retry *retry, uint64_t node)
{
    if (node != 0)
        retry->seen[retry->n_seen++ % N_SEEN] = node;
}

void fuse_lease_note_lookup(struct fuse_lease *lease, uint32_t thread,
                            uint64_t dir, uint64_t found)
{
    struct retry *retry;

    if (!lease || !fuse_lease_guards(lease))
        return;
    retry = retry_of(lease, thread);
    pthread_mutex_lock(&lease->lock);
    if (is_pending(lease, retry, thread)) {
        add_seen(retry, dir);
        add_seen(retry, found);
    }
    pthread_mutex_unlock(&lease->lock);
}
