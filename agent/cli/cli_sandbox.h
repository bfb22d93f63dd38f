/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_sandbox - the sandbox that a command means.
 *
 * Without a name it is the one whose folders contain the current directory.
 * None or several is an error that lists them.
 */
#ifndef AGENT_CLI_CLI_SANDBOX_H
#define AGENT_CLI_CLI_SANDBOX_H

#include "agent/client/control_link.h"
#include "agent/sandbox/sandbox_record.h"

enum cli_sandbox_which {
    CLI_SANDBOX_ANY,
    CLI_SANDBOX_LIVE,    /* it starts or runs */
    CLI_SANDBOX_RUNNING, /* its supervisor serves requests */
};

/* Find the sandbox of this name, or of the current directory for NULL. On
 * failure print the error and return NULL. */
struct sandbox_record *cli_sandbox_find(const char *name,
                                        enum cli_sandbox_which which);

/* Return the sandboxes that start or run (live) or do not, of which a folder is
 * path or, unless exact, contains it (of struct sandbox_record; a new array).
 * On failure return NULL and error. */
GPtrArray *cli_sandbox_of_folder(const char *path, bool live, bool exact,
                                 GError **error);

/* Return "a, b and c": a new string. */
char *cli_sandbox_names(const GPtrArray *records);

/* The same for those that a verb takes from its arguments: words names
 * sandboxes; without words, the current directory does. On failure print the
 * error and return NULL (some exist, others not: NULL). */
GPtrArray *cli_sandbox_find_all(char **words, enum cli_sandbox_which which);

/* Return all sandboxes that run: a new array; or print an error and return
 * NULL. */
GPtrArray *cli_sandbox_load_live(void);

/* For --follow: return false if the sandbox has ended, or stdout has; read its
 * files once more then. Otherwise wait for more. dir_fd: of its folder. */
bool cli_sandbox_follow(int dir_fd);

/* Ask the sandbox's supervisor. Returns a new reference, or NULL and error. */
json_t *cli_sandbox_ask(const struct sandbox_record *record, const char *type,
                        json_t *payload, GError **error);

#endif
