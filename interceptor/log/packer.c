/* SPDX-License-Identifier: Apache-2.0
 *
 * packer - see packer.h.
 */
#include "interceptor/log/packer.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <pthread.h>

#include "common/fd.h"
#include "common/log.h"
#include "interceptor/log/pack.h"
#include "interceptor/sys/sys.h"
#include "interceptor/sys/thread.h"

enum { MAX_QUEUE = 64 };

struct job {
    int blobs;
    bool sync;
};

struct packer {
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t changed;
    GQueue queue; /* of owned jobs */
    pthread_t thread;
    bool started, stop, busy;
    unsigned pauses;

    atomic_bool cancel; /* set with lock held, to stop the running job */
};

static void job_free(gpointer data)
{
    struct job *job = data;

    fd_close(&job->blobs);
    g_free(job);
}

static void run_job(struct packer *packer, struct job *job)
{
    int rc = pack_compress(job->blobs, &packer->cancel, job->sync);

    if (rc == -ECANCELED) {
        pthread_mutex_lock(&packer->lock);
        g_queue_push_head(&packer->queue, job);
        pthread_mutex_unlock(&packer->lock);
        return;
    }
    if (rc < 0) /* the plain pack is still valid */
        log_debug(LOG_UNDO, "cannot compress saved content: %s",
                  g_strerror(-rc));
    job_free(job);
}

static void *run_thread(void *data)
{
    struct packer *packer = data;

    pthread_mutex_lock(&packer->lock);
    while (!packer->stop) {
        struct job *job = packer->pauses ? NULL
                                         : g_queue_pop_head(&packer->queue);

        if (!job) {
            pthread_cond_wait(&packer->changed, &packer->lock);
            continue;
        }
        packer->busy = true;
        pthread_mutex_unlock(&packer->lock);
        run_job(packer, job);
        pthread_mutex_lock(&packer->lock);
        packer->busy = false;
        pthread_cond_broadcast(&packer->changed);
    }
    pthread_mutex_unlock(&packer->lock);
    return NULL;
}

struct packer *packer_new(void)
{
    struct packer *packer = g_new0(struct packer, 1);

    pthread_mutex_init(&packer->lock, NULL);
    pthread_cond_init(&packer->changed, NULL);
    g_queue_init(&packer->queue);
    return packer;
}

void packer_free(struct packer *packer)
{
    if (!packer)
        return;
    pthread_mutex_lock(&packer->lock);
    packer->stop = true;
    atomic_store(&packer->cancel, true);
    pthread_cond_broadcast(&packer->changed);
    pthread_mutex_unlock(&packer->lock);
    if (packer->started)
        pthread_join(packer->thread, NULL);
    g_queue_clear_full(&packer->queue, job_free);
    pthread_cond_destroy(&packer->changed);
    pthread_mutex_destroy(&packer->lock);
    g_free(packer);
}

void packer_add(struct packer *packer, int blobs, bool sync)
{
    int fd = sys_openat(blobs, ".", O_RDONLY | O_DIRECTORY, 0);
    struct job *job;

    if (fd < 0)
        return;
    job = g_new(struct job, 1);
    *job = (struct job){ fd, sync };
    pthread_mutex_lock(&packer->lock);
    g_queue_push_tail(&packer->queue, job);
    if (g_queue_get_length(&packer->queue) > MAX_QUEUE)
        job_free(g_queue_pop_head(&packer->queue));
    if (!packer->started)
        packer->started = thread_start(&packer->thread, "undo-pack", run_thread,
                                       packer) == 0;
    pthread_cond_broadcast(&packer->changed);
    pthread_mutex_unlock(&packer->lock);
}

void packer_pause(struct packer *packer)
{
    pthread_mutex_lock(&packer->lock);
    packer->pauses++;
    atomic_store(&packer->cancel, true);
    while (packer->busy)
        pthread_cond_wait(&packer->changed, &packer->lock);
    pthread_mutex_unlock(&packer->lock);
}

void packer_resume(struct packer *packer)
{
    pthread_mutex_lock(&packer->lock);
    packer->pauses--;
    if (packer->pauses == 0 && !packer->stop)
        atomic_store(&packer->cancel, false);
    pthread_cond_broadcast(&packer->changed);
    pthread_mutex_unlock(&packer->lock);
}
