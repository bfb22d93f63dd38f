/* SPDX-License-Identifier: Apache-2.0
 *
 * limits_common - worlds, and steps in them, for the tests of limits.
 */
#ifndef TESTS_LIMITS_COMMON_H
#define TESTS_LIMITS_COMMON_H

#include "tests/lib/world.h"

enum { FILES = 8, FILE_SIZE = 64 << 10 };

/* "file0" to "file7" cannot be compressed; "other", "moved" and "replaced" are
 * short. Started; NULL: the test is skipped. */
struct world *limits_world(gconstpointer backend);

/* Static. */
const char *limits_file_name(unsigned i);

/* Set one limit; asserts that it can be. */
void limits_configure(struct world *w, const char *name, int64_t value);

/* Overwrite one file with other bytes, which are copied into the log; and that
 * as a step. */
void limits_overwrite(struct world *w, unsigned i, guint32 seed);
int64_t limits_overwrite_step(struct world *w, unsigned i, guint32 seed);

/* A step that changes little. */
void limits_small_step(struct world *w, const char *text);

/* The next event.warning with this code: new, or NULL. */
json_t *limits_take_warning(struct world *w, const char *code);

/* That this step became unprotected was told, once. */
void limits_expect_unprotected(struct world *w, int64_t id);

void limits_rollback_refused(struct world *w, int steps, bool force, int code);

#endif
