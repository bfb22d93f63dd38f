/* SPDX-License-Identifier: Apache-2.0
 *
 * crash_points - which points a test takes: all, or as many as there is time
 * for (STEPBACK_CRASH_STRIDE, STEPBACK_CRASH_SEED, see crash_ways.h).
 */
#ifndef TESTS_CRASH_POINTS_H
#define TESTS_CRASH_POINTS_H

#include "tests/crash/crash_rig.h"

/* From the first one, every stride-th. */
struct crash_points {
    unsigned first, stride;
};

/* If not all, then so many times fewer; and fewer of a sparse tree (c may be
 * NULL). */
struct crash_points crash_choose_points(const struct crash *c, unsigned factor);
unsigned crash_seed(void);

/* What has fired is a write, so half of it can be done. */
bool crash_at_write(const struct crash *c);

#endif
