/* SPDX-License-Identifier: Apache-2.0
 *
 * engine_guard - an engine over a small folder, for tests of refusals.
 */
#ifndef TESTS_ENGINE_GUARD_H
#define TESTS_ENGINE_GUARD_H

#include "interceptor/interceptor.h"
#include "tests/lib/world.h"

struct guard {
    struct world *world; /* for its folders; never started */
    struct ic *ic;
    struct ic_cred cred;
};

struct guard_case {
    const char *path;
    void (*run)(struct guard *f, gconstpointer data);
    gconstpointer data;
};

/* Add each case as a test. cases is borrowed. */
void guard_add_cases(const struct guard_case *cases, size_t n);

/* Reopen the engine, over "file", "other" and "dir/sub". */
void guard_start(struct guard *f);

void guard_open_step(struct guard *f, int64_t id);
void guard_close_step(struct guard *f, int64_t id);

struct ic_inode *guard_lookup(struct guard *f, struct ic_inode *dir,
                              const char *name);

/* Return a path in the log; free with g_free(). */
char *guard_log_path(struct guard *f, const char *path);

/* Step 1 writes into "file" and removes "other". */
void guard_overwrite_file(struct guard *f);

#endif
