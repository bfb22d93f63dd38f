/* SPDX-License-Identifier: Apache-2.0
 *
 * clock - the clock of the engine's timers, and times as numbers.
 *
 * Threads: any.
 */
#ifndef INTERCEPTOR_SYS_CLOCK_H
#define INTERCEPTOR_SYS_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC_COARSE in ms: a tick of the kernel old at most. */
int64_t clock_ms(void);

/* A time of a file in ns, to tell whether two are equal: a client may set any
 * time, so it may have wrapped around. */
int64_t clock_ns(const struct timespec *time);

#endif
