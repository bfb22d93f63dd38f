/* SPDX-License-Identifier: Apache-2.0
 *
 * spawn - between fork() and exec: the child becomes the command.
 */
#ifndef SHIM_SPAWN_H
#define SHIM_SPAWN_H

#include <stdbool.h>

#include "shim/json_reader.h"

struct spawn_request {
    int64_t id;
    const char *text;
    const char *cwd;
    const struct json_value *env;   /* an object of strings, or NULL */
    const struct json_value *input; /* a string: its stdin; NULL: nothing */
};

/* Become `/bin/sh -c text` in its own session, with the two fds as stdout and
 * stderr. What fails is told on stderr and exits with 126, or 127 if there is
 * no shell. */
_Noreturn void spawn_exec(const struct spawn_request *request, int out,
                          int err);

/* Whether a request's env can be an environment; says what is wrong. */
bool spawn_check_env(const struct json_value *env, const char **ret_error);

#endif
