/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_paths - paths after "--" on a command line.
 */
#ifndef AGENT_CLI_PATHS_H
#define AGENT_CLI_PATHS_H

#include <glib.h>
#include <jansson.h>

#include "agent/cli/cli_place.h"

/* Cut the command line at its first "--", before options are parsed. Return the
 * words after it (borrowed, NULL-terminated), or NULL if there is no "--". */
char **cli_paths_cut(int *argc, char **argv);

/* Convert the words, relative to the current folder or absolute, to paths
 * relative to the place's folder, for a request: a new array. If a path is
 * outside of that folder, or there are no words, print a message and return
 * NULL. */
json_t *cli_paths_resolve(const char *command, const struct cli_place *place,
                          char **words);

#endif
