/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_env - the options -e and --env-file: variables for the guest.
 */
#ifndef AGENT_CLI_CLI_ENV_H
#define AGENT_CLI_CLI_ENV_H

#include <glib.h>
#include <stdbool.h>

/* Return what is wrong with the name of an entry (static), or NULL. */
const char *cli_env_problem(const char *entry);

/* Read the variables of files and entries (each may be NULL): NAME=VALUE, or
 * NAME, which passes on this host's value, if it is set. Later ones win, and
 * entries win over files. folders: those that the guest can write, as in
 * share_check_find(). A file there must not name a file elsewhere, nor pass on
 * variables of the host. Return a new list; NULL and error on failure. */
char **cli_env_read(char **files, char **entries, const char *const *folders,
                    GError **error);

#endif
