/* SPDX-License-Identifier: Apache-2.0
 *
 * pool - see pool.h.
 */
#include "p9/server/pool.h"

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>

#include "p9/server/request.h"

struct p9_pool {
    void (*run)(struct p9_request *request);
    GPtrArray *threads;
    pthread_mutex_t lock; /* guards the following members */
    pthread_cond_t work;
    struct p9_request *first, *last;
    unsigned idle;
    bool ends;
};

static struct p9_request *next(struct p9_pool *pool)
{
    struct p9_request *request;

    pthread_mutex_lock(&pool->lock);
    pool->idle++;
    while (!pool->first && !pool->ends)
        pthread_cond_wait(&pool->work, &pool->lock);
    pool->idle--;
    request = pool->first;
    if (request) {
        pool->first = request->next;
        request->next = NULL;
    }
    pthread_mutex_unlock(&pool->lock);
    return request;
}

static gpointer work(gpointer data)
{
    struct p9_pool *pool = data;
    struct p9_request *request;

    while ((request = next(pool)))
        pool->run(request);
    return NULL;
}

struct p9_pool *p9_pool_new(unsigned threads,
                            void (*run)(struct p9_request *request))
{
    struct p9_pool *pool = g_new0(struct p9_pool, 1);

    pool->run = run;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pool->threads = g_ptr_array_new();
    for (unsigned i = 0; i < threads; i++)
        g_ptr_array_add(pool->threads, g_thread_new("worker", work, pool));
    return pool;
}

void p9_pool_free(struct p9_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->ends = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (guint i = 0; i < pool->threads->len; i++)
        g_thread_join(g_ptr_array_index(pool->threads, i));
    g_ptr_array_unref(pool->threads);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    g_free(pool);
}

void p9_pool_push(struct p9_pool *pool, struct p9_request *request)
{
    pthread_mutex_lock(&pool->lock);
    request->next = NULL;
    if (pool->first)
        pool->last->next = request;
    else
        pool->first = request;
    pool->last = request;
    if (pool->idle > 0)
        pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}
