/* SPDX-License-Identifier: Apache-2.0
 *
 * crash_random - trees for crash_rig.h that are changed at random, in another
 * way in each round: by one process, or, in worlds that are a mount, by
 * several at once, each whatever it comes upon.
 */
#ifndef TESTS_CRASH_RANDOM_H
#define TESTS_CRASH_RANDOM_H

#include "tests/crash/crash_rig.h"

extern const struct crash_tree crash_random, crash_crowd;

#endif
