/* SPDX-License-Identifier: Apache-2.0
 *
 * thread - start engine threads with the server's signals blocked.
 *
 * A server may wait for signals (signalfd(2), sigwait(3)), and its handlers
 * must not run in a thread that is not its own. Signals that a thread causes
 * itself (signal(7): SIGBUS, SIGFPE, SIGILL, SIGSEGV) stay unblocked.
 */
#ifndef INTERCEPTOR_SYS_THREAD_H
#define INTERCEPTOR_SYS_THREAD_H

#include <pthread.h>

/* As pthread_create() without attributes. name: static, at most 15 bytes; shown
 * by tools (pthread_setname_np(3)). Returns 0 or an errno. */
int thread_start(pthread_t *ret_thread, const char *name,
                 void *(*run)(void *data), void *data);

#endif
