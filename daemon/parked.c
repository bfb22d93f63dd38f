/* SPDX-License-Identifier: Apache-2.0
 *
 * parked - see parked.h.
 */
#include "daemon/parked.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "common/log.h"

/* Interrupts that arrived before their request was parked. */
#define MAX_INTERRUPTED 64

struct parked {
    pthread_mutex_t lock;
    _Atomic uint64_t releases;
    uint64_t denials; /* value of releases after the last denial */
    unsigned count;   /* of all queues */
    size_t bytes;
    GPtrArray *queues;
    uint64_t interrupted[MAX_INTERRUPTED]; /* a ring; 0: none */
    unsigned next_interrupted;
    bool holds_signals;
    bool warned_full; /* warned once: a client must not be able to fill the log
                       */
};

struct parked_queue {
    struct parked *parked;
    void (*wake)(void *opaque);
    void *opaque;
    GDestroyNotify free_data;
    GQueue held, ready; /* struct parked_request, owned; guarded by
                         * parked->lock */
    atomic_uint n_ready;
};

struct parked *parked_new(void)
{
    struct parked *parked = g_new0(struct parked, 1);

    pthread_mutex_init(&parked->lock, NULL);
    parked->queues = g_ptr_array_new();
    return parked;
}

void parked_hold_signals(struct parked *parked)
{
    parked->holds_signals = true;
}

void parked_free(struct parked *parked)
{
    if (!parked)
        return;
    g_ptr_array_unref(parked->queues);
    pthread_mutex_destroy(&parked->lock);
    g_free(parked);
}

struct parked_queue *parked_queue_new(struct parked *parked,
                                      void (*wake)(void *opaque), void *opaque,
                                      GDestroyNotify free_data)
{
    struct parked_queue *queue = g_new0(struct parked_queue, 1);

    queue->parked = parked;
    queue->wake = wake;
    queue->opaque = opaque;
    queue->free_data = free_data;
    g_queue_init(&queue->held);
    g_queue_init(&queue->ready);
    pthread_mutex_lock(&parked->lock);
    g_ptr_array_add(parked->queues, queue);
    pthread_mutex_unlock(&parked->lock);
    return queue;
}

void parked_queue_free(struct parked_queue *queue)
{
    if (!queue)
        return;
    parked_drop(queue);
    pthread_mutex_lock(&queue->parked->lock);
    g_ptr_array_remove_fast(queue->parked->queues, queue);
    pthread_mutex_unlock(&queue->parked->lock);
    g_free(queue);
}

/* ---- making ready (the lock is held) ------------------------------------- */

static void push_ready(struct parked_queue *queue,
                       struct parked_request *request, int error)
{
    request->error = error;
    g_queue_push_tail(&queue->ready, request);
    atomic_fetch_add(&queue->n_ready, 1);
}

static void release_queue(struct parked_queue *queue, int error, int lock_error)
{
    struct parked_request *request;

    if (g_queue_is_empty(&queue->held))
        return;
    while ((request = g_queue_pop_head(&queue->held)))
        push_ready(queue, request, request->is_lock ? lock_error : error);
    queue->wake(queue->opaque);
}

static void release_all(struct parked *parked, int error, int lock_error)
{
    for (guint i = 0; i < parked->queues->len; i++)
        release_queue(g_ptr_array_index(parked->queues, i), error, lock_error);
}

void parked_release(struct parked *parked, int verdict)
{
    uint64_t releases;

    pthread_mutex_lock(&parked->lock);
    releases = atomic_fetch_add(&parked->releases, 1) + 1;
    if (verdict < 0)
        parked->denials = releases;
    release_all(parked, verdict, 0);
    pthread_mutex_unlock(&parked->lock);
}

uint64_t parked_releases(const struct parked *parked)
{
    return atomic_load_explicit(&parked->releases, memory_order_acquire);
}

void parked_fail(struct parked *parked, int error)
{
    pthread_mutex_lock(&parked->lock);
    release_all(parked, error, error);
    memset(parked->interrupted, 0, sizeof(parked->interrupted));
    pthread_mutex_unlock(&parked->lock);
}

/* ---- interrupts ---------------------------------------------------------- */

static bool can_interrupt(const struct parked *parked,
                          const struct parked_request *request)
{
    return !parked->holds_signals || request->is_lock;
}

static bool interrupt_in_queue(struct parked_queue *queue, uint64_t unique)
{
    for (GList *at = queue->held.head; at; at = at->next) {
        struct parked_request *request = at->data;

        if (request->unique != unique)
            continue;
        if (!can_interrupt(queue->parked, request))
            return true;
        g_queue_delete_link(&queue->held, at);
        push_ready(queue, request, -EINTR);
        queue->wake(queue->opaque);
        return true;
    }
    return false;
}

void parked_interrupt(struct parked *parked, uint64_t unique)
{
    bool found = false;

    pthread_mutex_lock(&parked->lock);
    for (guint i = 0; i < parked->queues->len && !found; i++)
        found = interrupt_in_queue(g_ptr_array_index(parked->queues, i),
                                   unique);
    /* Another worker may be about to park it. */
    if (!found)
        parked->interrupted[parked->next_interrupted++ % MAX_INTERRUPTED] =
            unique;
    pthread_mutex_unlock(&parked->lock);
}

static bool was_interrupted(struct parked *parked, uint64_t unique)
{
    for (unsigned i = 0; i < MAX_INTERRUPTED; i++) {
        if (unique != 0 && parked->interrupted[i] == unique) {
            parked->interrupted[i] = 0;
            return true;
        }
    }
    return false;
}

/* ---- a queue ------------------------------------------------------------- */

static bool is_full(struct parked *parked, size_t size)
{
    if (parked->count < PARKED_MAX && size <= PARKED_MAX_BYTES - parked->bytes)
        return false;
    if (!parked->warned_full)
        log_warn(LOG_FS_BACKEND, "too many requests wait for a decision; "
                                 "further ones fail with ENOSPC");
    parked->warned_full = true;
    return true;
}

static int put_locked(struct parked_queue *queue, uint64_t releases,
                      const struct parked_request *request)
{
    struct parked *parked = queue->parked;

    if (parked->denials > releases && !request->is_lock)
        return -EPERM;
    if (was_interrupted(parked, request->unique) &&
        can_interrupt(parked, request))
        return -EINTR;
    if (is_full(parked, request->size))
        return -ENOSPC;
    parked->count++;
    parked->bytes += request->size;
    if (parked_releases(parked) == releases) {
        g_queue_push_tail(&queue->held, g_memdup2(request, sizeof(*request)));
    } else {
        push_ready(queue, g_memdup2(request, sizeof(*request)), 0);
        queue->wake(queue->opaque);
    }
    return 0;
}

static int put(struct parked_queue *queue, uint64_t releases,
               const struct parked_request *request)
{
    int r;

    pthread_mutex_lock(&queue->parked->lock);
    r = put_locked(queue, releases, request);
    pthread_mutex_unlock(&queue->parked->lock);
    return r;
}

int parked_put(struct parked_queue *queue, uint64_t releases, uint64_t unique,
               gpointer data, size_t size)
{
    struct parked_request request = { .unique = unique,
                                      .data = data,
                                      .size = size };

    return put(queue, releases, &request);
}

int parked_put_lock(struct parked_queue *queue, uint64_t releases,
                    uint64_t unique, gpointer data, size_t size)
{
    struct parked_request request = {
        .unique = unique, .data = data, .size = size, .is_lock = true
    };

    return put(queue, releases, &request);
}

void parked_put_ready(struct parked_queue *queue, gpointer data)
{
    struct parked_request request = { .data = data };

    pthread_mutex_lock(&queue->parked->lock);
    queue->parked->count++;
    push_ready(queue, g_memdup2(&request, sizeof(request)), 0);
    queue->wake(queue->opaque);
    pthread_mutex_unlock(&queue->parked->lock);
}

bool parked_has_ready(const struct parked_queue *queue)
{
    return atomic_load(&queue->n_ready) > 0;
}

static void account_gone(struct parked *parked,
                         const struct parked_request *request)
{
    parked->count--;
    parked->bytes -= request->size;
}

bool parked_take(struct parked_queue *queue, struct parked_request *ret_request)
{
    struct parked_request *request;

    if (!parked_has_ready(queue))
        return false;
    pthread_mutex_lock(&queue->parked->lock);
    request = g_queue_pop_head(&queue->ready);
    if (request) {
        atomic_fetch_sub(&queue->n_ready, 1);
        account_gone(queue->parked, request);
        *ret_request = *request;
    }
    pthread_mutex_unlock(&queue->parked->lock);
    g_free(request);
    return request != NULL;
}

unsigned parked_count(struct parked_queue *queue)
{
    unsigned count;

    pthread_mutex_lock(&queue->parked->lock);
    count = g_queue_get_length(&queue->held) +
            g_queue_get_length(&queue->ready);
    pthread_mutex_unlock(&queue->parked->lock);
    return count;
}

static void drop_list(struct parked_queue *queue, GQueue *list)
{
    struct parked_request *request;

    while ((request = g_queue_pop_head(list))) {
        account_gone(queue->parked, request);
        if (queue->free_data)
            queue->free_data(request->data);
        g_free(request);
    }
}

void parked_drop(struct parked_queue *queue)
{
    pthread_mutex_lock(&queue->parked->lock);
    drop_list(queue, &queue->held);
    drop_list(queue, &queue->ready);
    atomic_store(&queue->n_ready, 0);
    pthread_mutex_unlock(&queue->parked->lock);
}
