/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_lookup - without an explicit log, use the log of a parent folder
 * (log_above.h).
 */
#ifndef AGENT_CLI_CLI_LOOKUP_H
#define AGENT_CLI_CLI_LOOKUP_H

#include <stdbool.h>

#include "agent/cli/cli_place.h"

/* If no log was named and the folder has none, set place to the nearest parent
 * folder with a log and print a note on standard error. */
void cli_lookup_place(struct cli_place *place);

/* Convert a path relative to the given folder into one relative to the folder
 * that was found. Returns a new string. */
char *cli_lookup_path(const struct cli_place *place, const char *path);

/* The same for a command that runs: in a folder below one with a log it is a
 * step of that log. With -C only the named folder is shared. Return false if
 * that is refused, after printing the reason. */
bool cli_lookup_for_run(struct cli_place *place, bool separate_log);

/* Warn if a folder above this one has a log. This folder gets its own. */
void cli_lookup_warn_of_outer(const char *dir);

/* Warn of the opposite case: a folder within this one has a log. */
void cli_lookup_warn_of_inner(const struct cli_place *place);

#endif
