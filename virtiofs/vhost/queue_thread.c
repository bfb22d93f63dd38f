/* SPDX-License-Identifier: Apache-2.0
 *
 * queue_thread - see queue_thread.h.
 */
#include "virtiofs/vhost/queue_thread.h"

#include <errno.h>
#include <glib.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/short_turns.h"

#define POLL_INTERVAL_MS 1

struct queue_thread {
    struct queue_thread_work *work; /* borrowed */
    int wake;                       /* an eventfd of this thread */
    int epoll;
    GThread *thread; /* NULL: stopped */
};

struct queue_thread *queue_thread_new(struct queue_thread_work *work)
{
    fd_auto int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    fd_auto int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = { .events = EPOLLIN | EPOLLET };
    struct queue_thread *thread;

    if (wake < 0 || epoll < 0 ||
        epoll_ctl(epoll, EPOLL_CTL_ADD, wake, &event) != 0)
        return NULL;
    thread = g_new0(struct queue_thread, 1);
    thread->work = work;
    thread->wake = fd_steal(&wake);
    thread->epoll = fd_steal(&epoll);
    return thread;
}

void queue_thread_free(struct queue_thread *thread)
{
    if (!thread)
        return;
    fd_close(&thread->wake);
    fd_close(&thread->epoll);
    g_free(thread);
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

static void take_short_turns(void)
{
    int r = short_turns_take();

    if (r < 0)
        log_debug(LOG_FS_BACKEND,
                  "cannot set short turns for the high-priority queue: %s",
                  g_strerror(-r));
}

static gpointer thread_main(gpointer data)
{
    struct queue_thread *thread = data;
    struct queue_thread_work *work = thread->work;
    struct queue_hand *hand = queue_hand_new();

    if (work->is_urgent)
        take_short_turns();
    while (!atomic_load(&work->stop)) {
        struct epoll_event events[2];
        bool polls;

        if (!work->run(hand, &polls, work->opaque))
            epoll_wait(thread->epoll, events, G_N_ELEMENTS(events),
                       polls ? POLL_INTERVAL_MS : -1);
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
    thread->thread = g_thread_try_new(thread->work->name, thread_main, thread,
                                      &error);
    if (!thread->thread)
        log_warn(LOG_FS_BACKEND, "cannot start a thread for a queue: %s",
                 error->message);
    return thread->thread ? 0 : -EAGAIN;
}

void queue_thread_join(struct queue_thread *thread)
{
    queue_thread_wake(thread);
    g_thread_join(thread->thread);
    thread->thread = NULL;
}

void queue_thread_wake(struct queue_thread *thread)
{
    eventfd_write(thread->wake, 1);
}
