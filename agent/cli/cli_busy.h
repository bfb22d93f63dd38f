/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_busy - the sandbox that keeps a folder busy, and how to wait for it or
 * end it, for messages.
 */
#ifndef AGENT_CLI_CLI_BUSY_H
#define AGENT_CLI_CLI_BUSY_H

#include <stdbool.h>

/* Return which job of which sandbox has a step open in the undo log of dir,
 * and how to wait for its end: a new string, or NULL if no sandbox is known to
 * use that log. undo_dir: NULL for the default log. */
char *cli_busy_describe(const char *dir, const char *undo_dir);

/* For --new: check that no sandbox that runs over the very folder uses the
 * undo log of dir, which a second machine would need. Otherwise print the
 * error, which begins with the command's name, and return false. */
bool cli_busy_check_new(const char *command, const char *dir,
                        const char *undo_dir);

#endif
