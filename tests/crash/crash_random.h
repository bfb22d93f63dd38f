/* SPDX-License-Identifier: Apache-2.0
 *
 * crash_random - trees for crash_rig.h that change at random.
 *
 * The changes differ in each round. One process makes them or, in worlds with a
 * mount, several at once, each on whatever it finds.
 */
#ifndef TESTS_CRASH_RANDOM_H
#define TESTS_CRASH_RANDOM_H

#include "tests/crash/crash_rig.h"

extern const struct crash_tree crash_random, crash_crowd;

#endif
