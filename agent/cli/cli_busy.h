/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_busy - the sandbox that keeps a folder busy, and how to wait for it or
 * end it, for messages.
 */
#ifndef AGENT_CLI_CLI_BUSY_H
#define AGENT_CLI_CLI_BUSY_H

#include <stdbool.h>

struct cli_place;

/* Return which job of which sandbox has a step open in the place's undo log,
 * and how to wait for its end: a new string, or NULL if no sandbox is known to
 * use that log. */
char *cli_busy_describe(const struct cli_place *place);

/* For --new: check that no sandbox that runs over the very folder uses the
 * place's undo log, which a second machine would need. Otherwise print the
 * error, which begins with the command's name, and return false. */
bool cli_busy_check_new(const char *command, const struct cli_place *place);

#endif
