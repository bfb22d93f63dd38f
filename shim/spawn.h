/* SPDX-License-Identifier: Apache-2.0
 *
 * spawn - from fork() to exec(): turn the child into the command.
 */
#ifndef SHIM_SPAWN_H
#define SHIM_SPAWN_H

#include <stdbool.h>

#include "shim/wire_json.h"

/* Borrowed from the line of the request. One of command, argv and login is
 * set. */
struct spawn_request {
    int64_t id;
    const char *command; /* for `/bin/sh -c` */
    json_t *argv;        /* an array of strings */
    bool login;          /* the user's login shell */
    bool prompt;         /* each line of the login shell is a step */
    const char *user;    /* account.h; NULL: root */
    const char *cwd;     /* NULL: a login's home, or the share */
    json_t *env;         /* an object of strings, or NULL */
    json_t *input;       /* a string, the whole stdin; NULL: empty */
};

/* The command's streams. in -1: use request->input, or /dev/null. */
struct spawn_streams {
    bool connected; /* fds 0, 1 and 2 are already connected, and the session
                       exists */
    int in, out, err;
};

/* Turn the process into the command, in its own session. Errors are reported on
 * stderr, with exit code 126, or 127 if the program does not exist. */
_Noreturn void spawn_exec(const struct spawn_request *request,
                          const struct spawn_streams *streams);

/* Return true if a request's argv and env are valid for a process; otherwise
 * set ret_error to a static sentence. */
bool spawn_check(const struct spawn_request *request, const char **ret_error);

#endif
