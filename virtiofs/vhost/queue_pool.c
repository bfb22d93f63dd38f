/* SPDX-License-Identifier: Apache-2.0
 *
 * queue_pool - see queue_pool.h.
 */
#include "virtiofs/vhost/queue_pool.h"

#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>

#include "common/log.h"

struct queue_pool {
    const char *name;
    unsigned max_threads;
    queue_pool_handle *handle;
    void *opaque;
    atomic_uint count; /* waiting and running */

    pthread_mutex_t lock; /* guards the following members */
    pthread_cond_t changed;
    uint16_t waiting[QUEUE_POOL_BACKLOG]; /* a ring */
    unsigned first, n_waiting;
    bool ending;
    GThread **threads;
    unsigned n_threads;
};

struct queue_hand *queue_hand_new(void)
{
    struct queue_hand *hand = g_new(struct queue_hand, 1);

    hand->scratch = fuse_scratch_new();
    return hand;
}

void queue_hand_free(struct queue_hand *hand)
{
    fuse_scratch_free(hand->scratch);
    g_free(hand);
}

struct queue_pool *queue_pool_new(const char *name, unsigned max_threads,
                                  queue_pool_handle *handle, void *opaque)
{
    struct queue_pool *pool;

    if (max_threads == 0)
        return NULL;
    pool = g_new0(struct queue_pool, 1);
    pool->name = name;
    pool->max_threads = max_threads;
    pool->handle = handle;
    pool->opaque = opaque;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->changed, NULL);
    pool->threads = g_new0(GThread *, max_threads);
    return pool;
}

void queue_pool_free(struct queue_pool *pool)
{
    if (!pool)
        return;
    g_free(pool->threads);
    pthread_cond_destroy(&pool->changed);
    pthread_mutex_destroy(&pool->lock);
    g_free(pool);
}

/* ---- the threads --------------------------------------------------------- */

/* Wait for the next head. Return false if the thread must end. */
static bool take(struct queue_pool *pool, uint16_t *ret_head)
{
    bool found;

    pthread_mutex_lock(&pool->lock);
    while (pool->n_waiting == 0 && !pool->ending)
        pthread_cond_wait(&pool->changed, &pool->lock);
    found = pool->n_waiting > 0;
    if (found) {
        *ret_head = pool->waiting[pool->first];
        pool->first = (pool->first + 1) % QUEUE_POOL_BACKLOG;
        pool->n_waiting--;
    }
    pthread_mutex_unlock(&pool->lock);
    return found;
}

static gpointer thread_main(gpointer data)
{
    struct queue_pool *pool = data;
    struct queue_hand *hand = queue_hand_new();
    uint16_t head;

    while (take(pool, &head))
        pool->handle(pool->opaque, hand, head);
    queue_hand_free(hand);
    return NULL;
}

/* Start a thread if possible. Return true if the pool has any thread. The lock
 * is held. */
static bool add_thread(struct queue_pool *pool)
{
    g_autoptr(GError) error = NULL;
    GThread *thread = g_thread_try_new(pool->name, thread_main, pool, &error);

    if (thread)
        pool->threads[pool->n_threads++] = thread;
    else
        log_warn(LOG_FS_BACKEND, "cannot start a thread for requests: %s",
                 error->message);
    return pool->n_threads > 0;
}

/* ---- the backlog --------------------------------------------------------- */

unsigned queue_pool_count(const struct queue_pool *pool)
{
    return pool ? atomic_load(&pool->count) : 0;
}

bool queue_pool_has_time(const struct queue_pool *pool)
{
    return pool && queue_pool_count(pool) < pool->max_threads;
}

void queue_pool_done(struct queue_pool *pool)
{
    atomic_fetch_sub(&pool->count, 1);
}

static bool give_locked(struct queue_pool *pool, uint16_t head)
{
    if (pool->n_waiting == QUEUE_POOL_BACKLOG)
        return false;
    if (queue_pool_count(pool) >= pool->n_threads &&
        pool->n_threads < pool->max_threads && !add_thread(pool))
        return false;
    pool->waiting[(pool->first + pool->n_waiting++) % QUEUE_POOL_BACKLOG] =
        head;
    atomic_fetch_add(&pool->count, 1);
    return true;
}

bool queue_pool_give(struct queue_pool *pool, uint16_t head)
{
    bool given;

    if (!pool)
        return false;
    pthread_mutex_lock(&pool->lock);
    given = give_locked(pool, head);
    pthread_mutex_unlock(&pool->lock);
    if (given)
        pthread_cond_signal(&pool->changed);
    return given;
}

void queue_pool_drop(struct queue_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_sub(&pool->count, pool->n_waiting);
    pool->n_waiting = 0;
    pthread_mutex_unlock(&pool->lock);
}

void queue_pool_finish(struct queue_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->ending = true;
    pthread_mutex_unlock(&pool->lock);
    pthread_cond_broadcast(&pool->changed);
    for (unsigned i = 0; i < pool->n_threads; i++)
        g_thread_join(pool->threads[i]);
    pool->n_threads = 0;
    pool->ending = false;
}
