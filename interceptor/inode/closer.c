/* SPDX-License-Identifier: Apache-2.0
 *
 * closer - see closer.h.
 *
 * The thread starts with the first fd. fds that are not closed yet are in a
 * ring; taken and closed count all fds ever, and index the ring.
 */
#include "interceptor/inode/closer.h"

#include <glib.h>
#include <pthread.h>
#include <stdint.h>

#include "common/fd.h"
#include "interceptor/sys/thread.h"

/* Bounds the fds that are tied up, and slows down a client that makes files
 * faster than they are freed. */
#define MAX_WAITING 8u

struct closer {
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t changed;
    int fds[MAX_WAITING];
    int64_t sizes[MAX_WAITING],
        bytes; /* bytes: sum over the fds not closed yet */
    uint64_t taken;
    uint64_t closed; /* <= taken, and >= taken - MAX_WAITING */
    bool has_thread;
    bool stop;
    pthread_t thread;
};

struct closer *closer_new(void)
{
    struct closer *closer = g_new0(struct closer, 1);

    pthread_mutex_init(&closer->lock, NULL);
    pthread_cond_init(&closer->changed, NULL);
    return closer;
}

static void *run(void *data)
{
    struct closer *closer = data;

    pthread_mutex_lock(&closer->lock);
    while (closer->closed < closer->taken || !closer->stop) {
        if (closer->closed == closer->taken) {
            pthread_cond_wait(&closer->changed, &closer->lock);
        } else {
            unsigned at = closer->closed % MAX_WAITING;
            int fd = closer->fds[at];

            pthread_mutex_unlock(&closer->lock);
            fd_close(&fd);
            pthread_mutex_lock(&closer->lock);
            closer->bytes -= closer->sizes[at];
            closer->closed++;
            pthread_cond_broadcast(&closer->changed);
        }
    }
    pthread_mutex_unlock(&closer->lock);
    return NULL;
}

void closer_free(struct closer *closer)
{
    if (!closer)
        return;
    pthread_mutex_lock(&closer->lock);
    closer->stop = true;
    pthread_cond_broadcast(&closer->changed);
    pthread_mutex_unlock(&closer->lock);
    if (closer->has_thread)
        pthread_join(closer->thread, NULL);
    pthread_cond_destroy(&closer->changed);
    pthread_mutex_destroy(&closer->lock);
    g_free(closer);
}

static bool take_locked(struct closer *closer, int fd, int64_t bytes)
{
    unsigned at = closer->taken % MAX_WAITING;

    if (closer->taken - closer->closed == MAX_WAITING)
        return false;
    if (!closer->has_thread)
        closer->has_thread = thread_start(&closer->thread, "undo-close", run,
                                          closer) == 0;
    if (!closer->has_thread)
        return false;
    closer->fds[at] = fd;
    closer->sizes[at] = bytes;
    closer->bytes += bytes;
    closer->taken++;
    pthread_cond_broadcast(&closer->changed);
    return true;
}

void closer_take(struct closer *closer, int fd, int64_t bytes)
{
    bool is_taken;

    pthread_mutex_lock(&closer->lock);
    is_taken = take_locked(closer, fd, bytes);
    pthread_mutex_unlock(&closer->lock);
    if (!is_taken)
        fd_close(&fd);
}

int64_t closer_bytes(struct closer *closer)
{
    int64_t bytes;

    pthread_mutex_lock(&closer->lock);
    bytes = closer->bytes;
    pthread_mutex_unlock(&closer->lock);
    return bytes;
}

bool closer_wait(struct closer *closer)
{
    uint64_t until;
    bool had_some;

    pthread_mutex_lock(&closer->lock);
    until = closer->taken;
    had_some = closer->closed < until;
    while (closer->closed < until)
        pthread_cond_wait(&closer->changed, &closer->lock);
    pthread_mutex_unlock(&closer->lock);
    return had_some;
}
