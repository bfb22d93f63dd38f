/* SPDX-License-Identifier: Apache-2.0
 *
 * inject - make system calls in another process, by ptrace(2).
 *
 * Tests use it to try what a compromised server could do: the call is made in
 * the server's own context, with its filters, namespaces and capabilities.
 * x86-64 only.
 */
#ifndef TESTS_INJECT_H
#define TESTS_INJECT_H

#include <stdbool.h>
#include <sys/types.h>

struct inject;

/* Stop the process. NULL if the architecture is not supported, or it may not be
 * traced. */
struct inject *inject_new(pid_t pid);

/* Return the call's result, or -errno; INJECT_DIED - N if signal N killed the
 * process for it, which is then waited for. */
enum { INJECT_DIED = -100000 };
long inject_call(struct inject *inject, long number, long a, long b, long c,
                 long d, long e);

/* Return an address in the process that holds these bytes until the next call.
 */
long inject_put(struct inject *inject, const void *data, size_t size);

/* The process continues as if nothing had happened. */
void inject_free(struct inject *inject);

#endif
