/* SPDX-License-Identifier: Apache-2.0
 *
 * model_shrink - make a list of operations that fails short.
 */
#ifndef TESTS_MODEL_SHRINK_H
#define TESTS_MODEL_SHRINK_H

#include <stdbool.h>

#include "tests/model/model_script.h"

/* Does the list fail? *ret_failure (new) says how then. */
typedef bool model_fails(GPtrArray *ops, char **ret_failure, void *opaque);

/* Leave out of ops what it fails without: parts of it, whole steps first. Ends
 * when no single operation can be left out, or after so many seconds. failure:
 * of the whole list. Returns how often it was tried. */
guint model_shrink(GPtrArray *ops, const char *failure, guint seconds,
                   model_fails *fails, void *opaque);

#endif
