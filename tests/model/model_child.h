/* SPDX-License-Identifier: Apache-2.0
 *
 * model_child - a run in a process of its own, so that an engine that dies or
 * hangs is a result like another.
 */
#ifndef TESTS_MODEL_CHILD_H
#define TESTS_MODEL_CHILD_H

#include <stdbool.h>

#include "tests/model/model_script.h"
#include "tests/lib/world.h"

struct model_result {
    GPtrArray *ops;
    char *failure;
};

void model_result_clear(struct model_result *result);

/* Is there what the backend needs? */
bool model_child_can_run(const struct world_backend *backend);

/* Run ops in a fresh world; then as many invented ones as invent says, which
 * are added to ops. All is taken back at the end. True if all was well, else
 * *ret_failure (new) says how it was not, and ops ends with the one that
 * showed it. */
bool model_child_run(const struct world_backend *backend, GPtrArray *ops,
                     guint32 seed, guint invent, char **ret_failure);

#endif
