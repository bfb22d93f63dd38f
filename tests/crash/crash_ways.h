/* SPDX-License-Identifier: Apache-2.0
 *
 * crash_ways - a test of each way to crash, for each act and tree.
 *
 * Acts are in crash_acts.h, trees in crash_trees.h; the log is beside the
 * folder or on another file system. STEPBACK_CRASH_STRIDE=N takes every Nth
 * point only, STEPBACK_CRASH_SEED=S chooses others.
 */
#ifndef TESTS_CRASH_WAYS_H
#define TESTS_CRASH_WAYS_H

#include "tests/crash/crash_acts.h"

enum crash_scope {
    CRASH_ALL_TREES,
    CRASH_USUAL,        /* not the large trees */
    CRASH_FILLING_ACTS, /* of the usual ones, acts that may find the disk full
                         */
};

struct crash_way {
    const char *name;
    void (*test)(struct crash *c);
    enum crash_scope scope;
};

/* The program's main(): tests /crash/WAY/WORLD/TREE/ACT. only: the world; NULL:
 * all. */
int crash_main(int argc, char **argv, const struct crash_way *ways, size_t n,
               const struct world_backend *only);

/* Return false after too many failed rounds. */
bool crash_goes_on(const struct crash *c);

/* Run without a fault; returns the number of points. */
unsigned crash_measure(struct crash *c);

/* Kill it at this point, and recover without a fault; returns the number of
 * points of the recovery. The other counts are in c->shared. */
unsigned crash_measure_recovery(struct crash *c, unsigned point);

#endif
