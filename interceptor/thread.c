/* SPDX-License-Identifier: Apache-2.0
 *
 * thread - see thread.h.
 */
#include "interceptor/thread.h"

#include <signal.h>
#include <stddef.h>

int thread_start(pthread_t *ret_thread, void *(*run)(void *data), void *data)
{
    static const int own[] = { SIGBUS, SIGFPE, SIGILL, SIGSEGV };
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        sigdelset(&all, own[i]);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* the new one inherits it */
    rc = pthread_create(ret_thread, NULL, run, data);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}
