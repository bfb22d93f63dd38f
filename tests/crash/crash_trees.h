/* SPDX-License-Identifier: Apache-2.0
 *
 * crash_trees - trees and three steps that change each, for crash_rig.h.
 *
 * To add one: a function that fills a world on the host, functions that change
 * it by TRY() and TRY_PARTS(), an entry in the table.
 */
#ifndef TESTS_CRASH_TREES_H
#define TESTS_CRASH_TREES_H

#include "tests/crash/crash_rig.h"

extern const struct crash_tree crash_trees[];
extern const size_t crash_trees_count;

#endif
