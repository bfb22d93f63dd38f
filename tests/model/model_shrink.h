/* SPDX-License-Identifier: Apache-2.0
 *
 * model_shrink - shorten a list of operations that fails.
 */
#ifndef TESTS_MODEL_SHRINK_H
#define TESTS_MODEL_SHRINK_H

#include <stdbool.h>

#include "tests/model/model_script.h"

/* Return whether the list fails; *ret_failure (new) then describes how. */
typedef bool model_fails(GPtrArray *ops, char **ret_failure, void *opaque);

/* Remove from ops what the failure does not need: parts of it, whole steps
 * first. Ends when no single operation can be removed, or after this number of
 * seconds. failure: of the whole list. Returns the number of tries. */
guint model_shrink(GPtrArray *ops, const char *failure, guint seconds,
                   model_fails *fails, void *opaque);

#endif
