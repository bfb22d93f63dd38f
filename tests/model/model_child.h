/* SPDX-License-Identifier: Apache-2.0
 *
 * model_child - a run in a child process.
 *
 * So an engine that dies or hangs is a result like any other.
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

/* Return whether the backend can run here. */
bool model_child_can_run(const struct world_backend *backend);

/* Run ops in a new world, then as many invented ones as invent says, which are
 * added to ops. Everything is undone at the end. True on success; otherwise
 * *ret_failure (new) describes the failure, and ops ends with the operation
 * that showed it. */
bool model_child_run(const struct world_backend *backend, GPtrArray *ops,
                     guint32 seed, guint invent, char **ret_failure);

#endif
