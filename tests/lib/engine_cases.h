/* SPDX-License-Identifier: Apache-2.0
 *
 * engine_cases - changes of a tree in a step, by the test plan's ids.
 */
#ifndef TESTS_ENGINE_CASES_H
#define TESTS_ENGINE_CASES_H

#include <fcntl.h>
#include <glib.h>

#include "tests/lib/world.h"

/* Fills a tree, changes it in one step, and checks the report. */
struct undo_case {
    const char *id;
    void (*fill)(struct world *w);
    void (*change)(struct world *w);
    void (*check)(struct world *w, json_t *report); /* may be NULL */
};

#define OK(call) g_assert_cmpint((call), ==, 0)

/* Write text at the start of a file; flags: of open(2). 0 or -errno. */
int engine_put(struct world *w, const char *path, int flags, const char *text);

#define CREATE(path, text) OK(engine_put(w, path, O_CREAT | O_EXCL, text))
#define WRITE(path, text)  OK(engine_put(w, path, 0, text))
#define DO(op, ...)        OK(w->backend->op(w, __VA_ARGS__))

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

/* Trees that other tests use too. */
void engine_fill_small(struct world *w);
void engine_fill_links(struct world *w);
void engine_remove_tree(struct world *w, const char *path);
void engine_rename_into_new_dir(struct world *w);
void engine_hardlink_remove_one(struct world *w);

#endif
