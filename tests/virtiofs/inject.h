/* SPDX-License-Identifier: Apache-2.0
 *
 * inject - make another process's system calls for it, by ptrace(2).
 *
 * To try what a server that has been taken over could do: the call is made in
 * the server's own context, with its filters, namespaces and capabilities.
 * x86-64 only.
 */
#ifndef TESTS_INJECT_H
#define TESTS_INJECT_H

#include <stdbool.h>
#include <sys/types.h>

struct inject;

/* Stop the process. NULL if this is no architecture for it, or it may not be
 * traced. */
struct inject *inject_new(pid_t pid);

/* The call's result, or -errno; INJECT_DIED - N if signal N killed the process
 * for it, which is then waited for. */
enum { INJECT_DIED = -100000 };
long inject_call(struct inject *inject, long number, long a, long b, long c,
                 long d, long e);

/* An address in the process that holds these bytes until the next call. */
long inject_put(struct inject *inject, const void *data, size_t size);

/* The process goes on as if nothing had been. */
void inject_free(struct inject *inject);

#endif
