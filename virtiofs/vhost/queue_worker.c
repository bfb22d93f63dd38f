/* SPDX-License-Identifier: Apache-2.0
 *
 * queue_worker - see queue_worker.h.
 */
#include "virtiofs/vhost/queue_worker.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "virtiofs/vhost/fault_guard.h"

/* Requests handled before the gate is released briefly. */
#define BATCH 64

/* Completions are signalled late while more requests are pending, but at most
 * this many, and this many bytes. */
#define MAX_UNSIGNALLED       8
#define MAX_UNSIGNALLED_BYTES 65536

static void wake_up(void *opaque)
{
    const struct queue_worker *worker = opaque;

    queue_thread_wake(worker->thread);
}

static queue_pool_handle handle_long;
static bool run_gated(struct queue_hand *hand, bool *ret_polls, void *opaque);

struct queue_worker *
queue_worker_new(unsigned index, struct fuse_server *server, unsigned pool_size,
                 const struct guest_memory *memory, struct dirty_log *log,
                 pthread_rwlock_t *gate)
{
    struct queue_worker *worker = g_new0(struct queue_worker, 1);

    worker->work = (struct queue_thread_work){
        .name = worker->name,
        .is_urgent = index == 0,
        .run = run_gated,
        .opaque = worker,
    };
    worker->thread = queue_thread_new(&worker->work);
    if (!worker->thread) {
        g_free(worker);
        return NULL; /* free() keeps errno */
    }
    virtqueue_init(&worker->vq, memory, log);
    worker->index = index;
    worker->server = server;
    worker->gate = gate;
    worker->call = worker->err = worker->kick = -1;
    snprintf(worker->name, sizeof(worker->name), "queue-%u", index);
    snprintf(worker->pool_name, sizeof(worker->pool_name), "pool-%u", index);
    pthread_mutex_init(&worker->used_lock, NULL);
    worker->parked = parked_queue_new(fuse_server_parked(server), wake_up,
                                      worker, NULL);
    worker->pool = queue_pool_new(worker->pool_name, pool_size, handle_long,
                                  worker);
    return worker;
}

void queue_worker_free(struct queue_worker *worker)
{
    if (!worker)
        return;
    queue_pool_drop(worker->pool);
    queue_worker_stop(worker);
    queue_pool_free(worker->pool);
    parked_queue_free(worker->parked);
    queue_thread_free(worker->thread); /* after the parked requests, which wake
                                        * it */
    pthread_mutex_destroy(&worker->used_lock);
    fd_close(&worker->call);
    fd_close(&worker->err);
    g_free(worker);
}

static void signal_eventfd(int fd)
{
    static const uint64_t one = 1;

    if (fd >= 0 && write(fd, &one, sizeof(one)) < 0)
        log_debug(LOG_FS_BACKEND, "cannot signal an eventfd: %s",
                  g_strerror(errno));
}

static void signal_driver(struct queue_worker *worker)
{
    bool must;

    pthread_mutex_lock(&worker->used_lock);
    must = virtqueue_must_signal(&worker->vq);
    pthread_mutex_unlock(&worker->used_lock);
    if (must)
        signal_eventfd(worker->call);
}

static void answer(struct queue_worker *worker,
                   const struct virtqueue_chain *chain, size_t len)
{
    pthread_mutex_lock(&worker->used_lock);
    virtqueue_push(&worker->vq, chain, (uint32_t)len);
    pthread_mutex_unlock(&worker->used_lock);
}

static size_t refuse(struct queue_worker *worker, struct fuse_scratch *scratch,
                     const struct virtqueue_chain *chain, int error)
{
    return fuse_server_refuse(worker->server, scratch, chain->iov, chain->n_in,
                              chain->iov + chain->n_in, chain->n_out, error);
}

static size_t handle(struct queue_worker *worker, struct fuse_scratch *scratch,
                     const struct virtqueue_chain *chain)
{
    return fuse_server_handle(worker->server, scratch, chain->iov, chain->n_in,
                              chain->iov + chain->n_in, chain->n_out);
}

/* Handle a request, or answer it with this error. Return false if it is not
 * completed yet: it was parked, or given to the pool. */
static bool handle_request(struct queue_worker *worker,
                           struct fuse_scratch *scratch,
                           const struct virtqueue_chain *chain, int error,
                           size_t *ret_len)
{
    uint64_t releases = parked_releases(fuse_server_parked(worker->server));
    size_t len = error ? refuse(worker, scratch, chain, error)
                       : handle(worker, scratch, chain);

    if (len == FUSE_SERVER_LONG) {
        if (queue_pool_give(worker->pool, chain->head))
            return false;
        scratch->pace = FUSE_PACE_ANY;
        len = handle(worker, scratch, chain);
    }
    if (len == FUSE_SERVER_PARKED) {
        error = (scratch->is_lock ? parked_put_lock : parked_put)(
            worker->parked, releases, scratch->unique,
            GUINT_TO_POINTER(chain->head), 0);
        if (error == 0)
            return false;
        len = refuse(worker, scratch, chain, error);
    }
    answer(worker, chain, len);
    *ret_len = len;
    return true;
}

/* Get the next request, a parked or a new one. Return as virtqueue_pop(). */
static int next_request(struct queue_worker *worker,
                        struct virtqueue_chain *chain, int *ret_error)
{
    struct parked_request again;

    if (!parked_take(worker->parked, &again)) {
        *ret_error = 0;
        return virtqueue_pop(&worker->vq, chain);
    }
    *ret_error = again.error;
    return virtqueue_again(&worker->vq, (uint16_t)GPOINTER_TO_UINT(again.data),
                           chain);
}

/* Return whether a request may be handled now. The gate is held for reading. */
static bool may_run(struct queue_worker *worker)
{
    struct virtqueue *vq = &worker->vq;

    if (!worker->enabled || !vq->mapped || vq->broken)
        return false;
    if (!fault_guard_tripped())
        return true;
    if (!atomic_exchange(&vq->broken, true))
        log_error(LOG_FS_BACKEND,
                  "queue %u: front-end truncated shared memory; queue stopped",
                  worker->index);
    signal_eventfd(worker->err);
    return false;
}

/* Runs in a thread of the pool. */
static void handle_long(void *opaque, struct queue_hand *hand, uint16_t head)
{
    struct queue_worker *worker = opaque;
    size_t len;

    pthread_rwlock_rdlock(worker->gate);
    if (!may_run(worker))
        parked_put_ready(worker->parked, GUINT_TO_POINTER(head));
    else if (virtqueue_again(&worker->vq, head, &hand->chain) < 0)
        signal_eventfd(worker->err);
    else if (handle_request(worker, hand->scratch, &hand->chain, 0, &len))
        signal_driver(worker);
    /* Before the gate is released: a thread that changes the queue reads the
     * count. */
    queue_pool_done(worker->pool);
    pthread_rwlock_unlock(worker->gate);
}

/* Choose the time that a request may take on the queue's thread: long requests
 * go to the pool, and so do large reads if other requests wait and the pool has
 * a free thread. */
static enum fuse_pace choose_pace(const struct queue_worker *worker)
{
    if (!worker->pool)
        return FUSE_PACE_ANY;
    return virtqueue_has_more(&worker->vq) && queue_pool_has_time(worker->pool)
               ? FUSE_PACE_AT_ONCE
               : FUSE_PACE_SOON;
}

/* Completions that were not signalled to the driver. */
struct unsignalled {
    unsigned n;
    size_t bytes;
};

static void signal_completions(struct queue_worker *worker,
                               struct unsignalled *unsignalled)
{
    if (unsignalled->n > 0)
        signal_driver(worker);
    *unsignalled = (struct unsignalled){ 0 };
}

/* Get the next request, as next_request(). If there is none, signal the driver
 * and look again: a driver that waited for the signal may have sent another
 * request in the meantime, without a kick, as kicks are enabled only when the
 * queue is idle. */
static int signal_and_take(struct queue_worker *worker,
                           struct unsignalled *unsignalled,
                           struct virtqueue_chain *chain, int *ret_error)
{
    int r = next_request(worker, chain, ret_error);

    if (r != 0 || unsignalled->n == 0)
        return r;
    signal_completions(worker, unsignalled);
    return next_request(worker, chain, ret_error);
}

static bool run(struct queue_worker *worker, struct queue_hand *hand)
{
    struct virtqueue *vq = &worker->vq;
    struct unsignalled unsignalled = { 0 };
    int r = 0, error;
    size_t len;

    if (!may_run(worker))
        return false;
    if (virtqueue_is_idle(vq) && !parked_has_ready(worker->parked))
        return false;
    virtqueue_disable_kicks(vq);
    for (int i = 0; i < BATCH && !atomic_load(&worker->work.stop); i++) {
        r = signal_and_take(worker, &unsignalled, &hand->chain, &error);
        if (r <= 0)
            break;
        hand->scratch->pace = choose_pace(worker);
        if (!handle_request(worker, hand->scratch, &hand->chain, error, &len))
            continue;
        unsignalled.n++;
        unsignalled.bytes += len;
        if (unsignalled.n == MAX_UNSIGNALLED ||
            unsignalled.bytes > MAX_UNSIGNALLED_BYTES)
            signal_completions(worker, &unsignalled);
    }
    signal_completions(worker, &unsignalled);
    if (r < 0)
        signal_eventfd(worker->err);
    return (virtqueue_enable_kicks(vq) || parked_has_ready(worker->parked)) &&
           r >= 0;
}

static bool run_gated(struct queue_hand *hand, bool *ret_polls, void *opaque)
{
    struct queue_worker *worker = opaque;
    bool more;

    pthread_rwlock_rdlock(worker->gate);
    more = run(worker, hand);
    *ret_polls = worker->polling;
    pthread_rwlock_unlock(worker->gate);
    return more;
}

void queue_worker_check_parked(struct queue_worker *worker)
{
    /* On a fresh ring no requests are outstanding. */
    if (virtqueue_outstanding(&worker->vq) !=
        parked_count(worker->parked) + queue_pool_count(worker->pool))
        parked_drop(worker->parked);
}

void queue_worker_drop_parked(struct queue_worker *worker)
{
    parked_drop(worker->parked);
}

/* Read the eventfd's remaining count, which would be a kick for its next user.
 * The eventfd may be blocking, so poll first. */
static void drain_kick(int kick)
{
    struct pollfd p = { .fd = kick, .events = POLLIN };
    uint64_t count;

    if (poll(&p, 1, 0) > 0 && read(kick, &count, sizeof(count)) < 0)
        log_debug(LOG_FS_BACKEND, "cannot read a kick: %s", g_strerror(errno));
}

static int set_kick(struct queue_worker *worker, int kick)
{
    fd_auto int new_kick = kick;
    int r = new_kick < 0 ? 0 : queue_thread_watch(worker->thread, new_kick);

    if (r < 0)
        return r;
    if (worker->kick >= 0) {
        queue_thread_unwatch(worker->thread, worker->kick);
        fd_close(&worker->kick);
    }
    worker->kick = fd_steal(&new_kick);
    return 0;
}

int queue_worker_start(struct queue_worker *worker, int kick)
{
    int r;

    pthread_rwlock_wrlock(worker->gate);
    r = set_kick(worker, kick);
    if (r == 0)
        worker->polling = worker->kick < 0;
    pthread_rwlock_unlock(worker->gate);
    if (r < 0)
        return r;
    atomic_store(&worker->work.stop, false);
    r = queue_thread_start(worker->thread);
    worker->running = r == 0;
    return r;
}

void queue_worker_stop(struct queue_worker *worker)
{
    if (worker->running) {
        atomic_store(&worker->work.stop, true);
        queue_thread_join(worker->thread);
        worker->running = false;
    }
    queue_pool_finish(worker->pool);
    if (worker->kick >= 0) {
        drain_kick(worker->kick);
        queue_thread_unwatch(worker->thread, worker->kick);
        fd_close(&worker->kick);
    }
}
