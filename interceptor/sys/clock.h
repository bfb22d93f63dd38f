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

/* Return CLOCK_MONOTONIC_COARSE in ms; at most one kernel tick old. */
int64_t clock_ms(void);

/* Return a file time in ns. Compare results for equality only: a client can set
 * any time, so the value may have wrapped around. */
int64_t clock_ns(const struct timespec *time);

#endif
