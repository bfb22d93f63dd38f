/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_lookup - where no log was named, a command is about the one of a folder
 * above (log_above.h).
 */
#ifndef AGENT_CLI_CLI_LOOKUP_H
#define AGENT_CLI_CLI_LOOKUP_H

#include "agent/cli/cli_place.h"

/* Unless the log was named, or the folder has one: make place the nearest
 * folder above that has, and say so on standard error. */
void cli_lookup_place(struct cli_place *place);

/* A path that was given relative to the folder, as one relative to the folder
 * that was found. A new string. */
char *cli_lookup_path(const struct cli_place *place, const char *path);

#endif
