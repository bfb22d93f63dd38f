/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_bus - the option --session-bus.
 */
#ifndef AGENT_CLI_CLI_BUS_H
#define AGENT_CLI_CLI_BUS_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* Return the rules of these options (NULL-terminated, or NULL), each with
 * commas between its rules: a new list, not yet checked; NULL for NULL. */
char **cli_bus_rules(char *const *options);

/* Return the problem of these options, or NULL, as session_bus_problem(). */
char *cli_bus_problem(char *const *options);

/* Return whether a session (a payload of session.start) has the same rules, in
 * any order, or there are no options. */
bool cli_bus_matches(char *const *options, json_t *session);

/* Print the warnings about the rules of a session. */
void cli_bus_warn(json_t *session);

#endif
