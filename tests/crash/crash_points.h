/* SPDX-License-Identifier: Apache-2.0
 *
 * crash_points - the points that a test takes.
 *
 * They are all, or as many as there is time for (STEPBACK_CRASH_STRIDE,
 * STEPBACK_CRASH_SEED, see crash_ways.h). Unless they are all, each series of
 * rounds begins at another offset, and no round is for a point that a run
 * without a fault does not reach.
 */
#ifndef TESTS_CRASH_POINTS_H
#define TESTS_CRASH_POINTS_H

#include "tests/crash/crash_rig.h"

/* Every stride-th point, from the first one to the last one. last: UINT_MAX if
 * only a round shows whether there is such a point. */
struct crash_points {
    unsigned first, stride, last;
};

/* factor: if not all points are taken, this many times fewer; fewer still of a
 * sparse tree (c may be NULL). */
struct crash_points crash_choose_points(const struct crash *c, unsigned factor);

/* The same for one series of a case, of its count points. A seed takes each of
 * them with the same probability, so a short series may have none. */
struct crash_points crash_choose_among(const struct crash *c, unsigned factor,
                                       unsigned count, unsigned series);
unsigned crash_seed(void);

/* Run rounds for a series whose length is unknown, until a point is not reached
 * (round returns false) or the test has failed. At least one point is reached,
 * if there is any. Returns how many were. */
unsigned crash_each_point(struct crash_points points,
                          bool (*round)(void *opaque, unsigned point),
                          void *opaque);

/* Return whether the point reached is a write, which can be done by half. */
bool crash_at_write(const struct crash *c);

#endif
