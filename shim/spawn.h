/* SPDX-License-Identifier: Apache-2.0
 *
 * spawn - between fork() and exec: the child becomes the command.
 */
#ifndef SHIM_SPAWN_H
#define SHIM_SPAWN_H

#include <stdbool.h>

#include "shim/json_reader.h"

/* Borrowed from the line that asked for it. One of command, argv and login. */
struct spawn_request {
    int64_t id;
    const char *command;           /* for `/bin/sh -c` */
    const struct json_value *argv; /* an array of strings */
    bool login;                    /* the user's login shell */
    const char *user;              /* account.h; NULL: root */
    const char *cwd;               /* NULL: the home of a login, or the share */
    const struct json_value *env;  /* an object of strings, or NULL */
    const struct json_value *input; /* a string: its stdin; NULL: nothing */
};

/* The command's streams. in -1: request->input, or /dev/null. */
struct spawn_streams {
    bool connected; /* fds 0, 1 and 2 are it, in a session already */
    int in, out, err;
};

/* Become the command, in a session of its own. What fails is reported on
 * stderr, with exit code 126, or 127 if there is no such program. */
_Noreturn void spawn_exec(const struct spawn_request *request,
                          const struct spawn_streams *streams);

/* True if a request's argv and env can be those of a process; else a static
 * sentence in ret_error. */
bool spawn_check(const struct spawn_request *request, const char **ret_error);

#endif
