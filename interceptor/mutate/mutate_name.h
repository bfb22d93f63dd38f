/* SPDX-License-Identifier: Apache-2.0
 *
 * mutate_name - names that a client may give.
 */
#ifndef INTERCEPTOR_MUTATE_MUTATE_NAME_H
#define INTERCEPTOR_MUTATE_MUTATE_NAME_H

#include <stdbool.h>

/* A single path component that the client may name. */
bool mutate_is_name(const char *name);

#endif
