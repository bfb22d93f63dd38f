/* SPDX-License-Identifier: Apache-2.0
 *
 * engine_cases - changes of a tree in a step, by the test plan's ids.
 */
#ifndef TESTS_ENGINE_CASES_H
#define TESTS_ENGINE_CASES_H

#include "tests/lib/engine_trees.h"

/* Fills a tree, changes it in one step, and checks the report. */
struct undo_case {
    const char *id;
    void (*fill)(struct world *w);
    void (*change)(struct world *w);
    void (*check)(struct world *w, json_t *report); /* may be NULL */
};

extern const struct undo_case engine_cases[];
extern const size_t engine_cases_count;

extern const struct undo_case engine_deep_cases[];
extern const size_t engine_deep_cases_count;

extern const struct undo_case engine_odd_cases[];
extern const size_t engine_odd_cases_count;

extern const struct undo_case engine_links_cases[];
extern const size_t engine_links_cases_count;

extern const struct undo_case engine_many_cases[];
extern const size_t engine_many_cases_count;

#endif
