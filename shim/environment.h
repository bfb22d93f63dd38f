/* SPDX-License-Identifier: Apache-2.0
 *
 * environment - the environment of a command: a sane base and the host's own
 * variables over it.
 */
#ifndef SHIM_ENVIRONMENT_H
#define SHIM_ENVIRONMENT_H

#include "shim/json_reader.h"

/* Build the environment from an object of strings, or from NULL for the base
 * alone. NULL on success, else a static text of what is wrong. */
const char *environment_build(const struct json_reader *reader,
                              const struct json_node *env);

/* What was built last, for execve (borrowed until the next build). */
char **environment_get(void);

#endif
