/* SPDX-License-Identifier: Apache-2.0
 *
 * thread - the engine's own threads leave signals to the server's.
 *
 * A server may wait for them (signalfd(2), sigwait(3)), and need not expect its
 * handlers in a thread that is not its own. Those that a thread brings upon
 * itself (signal(7): SIGBUS, SIGFPE, SIGILL, SIGSEGV) stay as they are.
 */
#ifndef INTERCEPTOR_SYS_THREAD_H
#define INTERCEPTOR_SYS_THREAD_H

#include <pthread.h>

/* As pthread_create() without attributes. name: static, at most 15 bytes, as
 * pthread_setname_np(3) gives it to tools. 0 or an errno. */
int thread_start(pthread_t *ret_thread, const char *name,
                 void *(*run)(void *data), void *data);

#endif
