/* SPDX-License-Identifier: Apache-2.0
 *
 * mutate_name - check names given by a client.
 */
#ifndef INTERCEPTOR_MUTATE_MUTATE_NAME_H
#define INTERCEPTOR_MUTATE_MUTATE_NAME_H

#include <stdbool.h>

/* Return whether name is a single path component that a client may use. */
bool mutate_is_name(const char *name);

#endif
