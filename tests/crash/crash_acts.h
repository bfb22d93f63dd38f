/* SPDX-License-Identifier: Apache-2.0
 *
 * crash_acts - the operations that faults disturb, for crash_rig.h.
 */
#ifndef TESTS_CRASH_ACTS_H
#define TESTS_CRASH_ACTS_H

#include "tests/crash/crash_rig.h"

extern const struct crash_act crash_acts[];
extern const size_t crash_acts_count;

#endif
