/* SPDX-License-Identifier: Apache-2.0
 *
 * thread - see thread.h.
 */
#include "interceptor/sys/thread.h"

#include <glib.h>
#include <signal.h>

struct start {
    const char *name;
    void *(*run)(void *data);
    void *data;
};

/* A thread sets its own name: another thread's name is written through /proc,
 * which the sandbox lacks. */
static void *run_named(void *opaque)
{
    const struct start start = *(struct start *)opaque;

    g_free(opaque);
    pthread_setname_np(pthread_self(), start.name);
    return start.run(start.data);
}

int thread_start(pthread_t *ret_thread, const char *name,
                 void *(*run)(void *data), void *data)
{
    static const int own[] = { SIGBUS, SIGFPE, SIGILL, SIGSEGV };
    struct start *start = g_new(struct start, 1);
    sigset_t all, before;
    int rc;

    *start = (struct start){ name, run, data };
    sigfillset(&all);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        sigdelset(&all, own[i]);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* the new thread inherits the
                                                * mask */
    rc = pthread_create(ret_thread, NULL, run_named, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0)
        g_free(start);
    return rc;
}
