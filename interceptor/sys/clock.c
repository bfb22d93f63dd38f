/* SPDX-License-Identifier: Apache-2.0
 *
 * clock - see clock.h.
 */
#include "interceptor/sys/clock.h"

int64_t clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t clock_ns(const struct timespec *time)
{
    return (int64_t)((uint64_t)time->tv_sec * 1000000000U +
                     (uint64_t)time->tv_nsec);
}
