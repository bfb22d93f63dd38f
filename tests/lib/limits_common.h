/* SPDX-License-Identifier: Apache-2.0
 *
 * limits_common - worlds and steps for the tests of limits.
 */
#ifndef TESTS_LIMITS_COMMON_H
#define TESTS_LIMITS_COMMON_H

#include "tests/lib/world.h"

enum { FILES = 8, FILE_SIZE = 64 << 10 };

/* Start a world: "file0" to "file7" are incompressible; "other", "moved" and
 * "replaced" are short. NULL: skipped. */
struct world *limits_world(gconstpointer backend);

/* Static. */
const char *limits_file_name(unsigned i);

/* Set one limit; asserts success. */
void limits_configure(struct world *w, const char *name, int64_t value);

/* Overwrite one file with other bytes, which are copied into the log; the
 * second does so in a step. */
void limits_overwrite(struct world *w, unsigned i, guint32 seed);
int64_t limits_overwrite_step(struct world *w, unsigned i, guint32 seed);

/* Make a step that changes little. */
void limits_small_step(struct world *w, const char *text);

/* Return the next event.warning with this code: new, or NULL. */
json_t *limits_take_warning(struct world *w, const char *code);

/* Assert that exactly one event says that this step became unprotected. */
void limits_expect_unprotected(struct world *w, int64_t id);

void limits_rollback_refused(struct world *w, int steps, bool force, int code);

#endif
