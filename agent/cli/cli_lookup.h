/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_lookup - without an explicit log, use the log of a parent folder
 * (log_above.h).
 */
#ifndef AGENT_CLI_CLI_LOOKUP_H
#define AGENT_CLI_CLI_LOOKUP_H

#include "agent/cli/cli_place.h"

/* If no log was named and the folder has none, set place to the nearest parent
 * folder with a log and print a note on standard error. */
void cli_lookup_place(struct cli_place *place);

/* Convert a path relative to the given folder into one relative to the folder
 * that was found. Returns a new string. */
char *cli_lookup_path(const struct cli_place *place, const char *path);

#endif
