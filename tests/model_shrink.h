/* SPDX-License-Identifier: Apache-2.0
 *
 * model_shrink - make a list of operations that fails short.
 */
#ifndef TESTS_MODEL_SHRINK_H
#define TESTS_MODEL_SHRINK_H

#include "tests/model_script.h"
#include "tests/world.h"

/* Leave out of ops what it fails without: parts of it, whole steps first, each
 * tried in a fresh world. Ends when no single operation can be left out, or
 * after so many seconds. failure: of the whole list. */
void model_shrink(const struct world_backend *backend, GPtrArray *ops,
                  const char *failure, guint seconds);

#endif
