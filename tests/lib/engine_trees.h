/* SPDX-License-Identifier: Apache-2.0
 *
 * engine_trees - trees, and changes of them, that many tests use.
 */
#ifndef TESTS_ENGINE_TREES_H
#define TESTS_ENGINE_TREES_H

#include <fcntl.h>
#include <glib.h>

#include "tests/lib/world.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

/* Write text at the start of a file; flags: of open(2). 0 or -errno. */
int engine_put(struct world *w, const char *path, int flags, const char *text);

#define CREATE(path, text) OK(engine_put(w, path, O_CREAT | O_EXCL, text))
#define WRITE(path, text)  OK(engine_put(w, path, 0, text))
#define DO(op, ...)        OK(w->backend->op(w, __VA_ARGS__))

void engine_fill_small(struct world *w);
void engine_fill_links(struct world *w);
void engine_remove_tree(struct world *w, const char *path);
void engine_rename_into_new_dir(struct world *w);
void engine_hardlink_remove_one(struct world *w);

#endif
