/* SPDX-License-Identifier: Apache-2.0
 *
 * queue_thread - see queue_thread.h.
 */
#include "virtiofs/queue_thread.h"

#include <errno.h>
#include <glib.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "common/fd.h"
#include "common/log.h"
#include "virtiofs/queue_worker.h"

#define MAX_QUEUES 2

#define POLL_INTERVAL_MS 1

struct queue_thread {
    char name[16];
    pthread_rwlock_t *gate;                   /* borrowed */
    struct queue_worker *workers[MAX_QUEUES]; /* under the gate; borrowed */
    unsigned n_workers;
    int wake; /* eventfd of our own */
    int epoll;
    atomic_bool stop;
    GThread *thread; /* NULL: stopped */
};

struct queue_thread *queue_thread_new(const char *name, pthread_rwlock_t *gate)
{
    fd_auto int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    fd_auto int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = { .events = EPOLLIN | EPOLLET };
    struct queue_thread *thread;

    if (wake < 0 || epoll < 0 ||
        epoll_ctl(epoll, EPOLL_CTL_ADD, wake, &event) != 0)
        return NULL;
    thread = g_new0(struct queue_thread, 1);
    snprintf(thread->name, sizeof(thread->name), "%s", name);
    thread->gate = gate;
    thread->wake = fd_steal(&wake);
    thread->epoll = fd_steal(&epoll);
    return thread;
}

void queue_thread_free(struct queue_thread *thread)
{
    if (!thread)
        return;
    queue_thread_stop(thread);
    fd_close(&thread->wake);
    fd_close(&thread->epoll);
    g_free(thread);
}

/* The gate is held for writing. */
static void insert(struct queue_thread *thread, struct queue_worker *worker)
{
    unsigned i = thread->n_workers++;

    g_assert(thread->n_workers <= MAX_QUEUES);
    for (; i > 0 && thread->workers[i - 1]->index > worker->index; i--)
        thread->workers[i] = thread->workers[i - 1];
    thread->workers[i] = worker;
    for (i = 0; i < thread->n_workers; i++)
        thread->workers[i]->before = i > 0 ? thread->workers[i - 1] : NULL;
}

void queue_thread_add(struct queue_thread *thread, struct queue_worker *worker)
{
    pthread_rwlock_wrlock(thread->gate);
    insert(thread, worker);
    pthread_rwlock_unlock(thread->gate);
}

void queue_thread_remove(struct queue_thread *thread,
                         struct queue_worker *worker)
{
    struct queue_worker *left[MAX_QUEUES];
    unsigned n_left = 0;

    pthread_rwlock_wrlock(thread->gate);
    for (unsigned i = 0; i < thread->n_workers; i++) {
        if (thread->workers[i] != worker)
            left[n_left++] = thread->workers[i];
    }
    thread->n_workers = 0;
    for (unsigned i = 0; i < n_left; i++)
        insert(thread, left[i]);
    pthread_rwlock_unlock(thread->gate);
}

int queue_thread_watch(struct queue_thread *thread, int fd)
{
    struct epoll_event event = { .events = EPOLLIN | EPOLLET };

    return epoll_ctl(thread->epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? 0
                                                                    : -errno;
}

void queue_thread_unwatch(struct queue_thread *thread, int fd)
{
    epoll_ctl(thread->epoll, EPOLL_CTL_DEL, fd, NULL);
}

static gpointer thread_main(gpointer data)
{
    struct queue_thread *thread = data;
    struct queue_hand *hand = queue_hand_new();

    while (!atomic_load(&thread->stop)) {
        struct epoll_event events[MAX_QUEUES + 1];
        bool more = false, polling = false;

        pthread_rwlock_rdlock(thread->gate);
        for (unsigned i = 0; i < thread->n_workers; i++) {
            more |= queue_worker_run(thread->workers[i], hand);
            polling |= thread->workers[i]->polling;
        }
        pthread_rwlock_unlock(thread->gate);
        if (!more)
            epoll_wait(thread->epoll, events, G_N_ELEMENTS(events),
                       polling ? POLL_INTERVAL_MS : -1);
    }
    queue_hand_free(hand);
    return NULL;
}

int queue_thread_start(struct queue_thread *thread)
{
    g_autoptr(GError) error = NULL;

    if (thread->thread) {
        queue_thread_wake(thread);
        return 0;
    }
    atomic_store(&thread->stop, false);
    thread->thread = g_thread_try_new(thread->name, thread_main, thread,
                                      &error);
    if (!thread->thread)
        log_warn(LOG_FS_BACKEND, "cannot start a thread for a queue: %s",
                 error->message);
    return thread->thread ? 0 : -EAGAIN;
}

void queue_thread_stop(struct queue_thread *thread)
{
    for (unsigned i = 0; i < thread->n_workers; i++) {
        if (thread->workers[i]->running)
            return;
    }
    if (!thread->thread)
        return;
    atomic_store(&thread->stop, true);
    queue_thread_wake(thread);
    g_thread_join(thread->thread);
    thread->thread = NULL;
}

void queue_thread_wake(struct queue_thread *thread)
{
    eventfd_write(thread->wake, 1);
}
