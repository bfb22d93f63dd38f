/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_stat - "stepback diff --stat": the sizes of a step's changes, as git
 * prints them.
 */
#ifndef AGENT_CLI_CLI_STAT_H
#define AGENT_CLI_CLI_STAT_H

#include <glib.h>
#include <jansson.h>

#include "agent/cli/cli_output.h"

struct cli_stat;

struct cli_stat *cli_stat_new(void);
void cli_stat_free(struct cli_stat *stat);

/* Add a file of "diff" (doc/control-protocol.md). */
gboolean cli_stat_add(struct cli_stat *stat, json_t *file, GError **error);

/* Print a line for each file with its count of lines and a graph, and a line
 * for all. */
void cli_stat_print(const struct cli_stat *stat,
                    const struct cli_output *output);

/* Return the files as a new array of objects. */
json_t *cli_stat_to_json(const struct cli_stat *stat);

#endif
