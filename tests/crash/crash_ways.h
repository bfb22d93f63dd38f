/* SPDX-License-Identifier: Apache-2.0
 *
 * crash_ways - a test of each way to crash, for each act (crash_acts.h) and
 * tree (crash_trees.h), with the log beside the folder and on another
 * filesystem.
 *
 * STEPBACK_CRASH_STRIDE=N takes every Nth point only, STEPBACK_CRASH_SEED=S
 * chooses others.
 */
#ifndef TESTS_CRASH_WAYS_H
#define TESTS_CRASH_WAYS_H

#include "tests/crash/crash_acts.h"

enum crash_scope {
    CRASH_ALL_TREES,
    CRASH_USUAL,        /* not of those that are large */
    CRASH_FILLING_ACTS, /* of the usual, those that may find the disk full */
};

struct crash_way {
    const char *name;
    void (*test)(struct crash *c);
    enum crash_scope scope;
};

/* The program's main(): tests /crash/WAY/WORLD/TREE/ACT. only: of the worlds;
 * NULL: in all. */
int crash_main(int argc, char **argv, const struct crash_way *ways, size_t n,
               const struct world_backend *only);

/* Have not too many rounds failed? */
bool crash_goes_on(const struct crash *c);

/* A run without a fault: how many points it meets. */
unsigned crash_measure(struct crash *c);

#endif
