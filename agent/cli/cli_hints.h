/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_hints - what "run" tells a user who expects a local shell.
 */
#ifndef AGENT_CLI_CLI_HINTS_H
#define AGENT_CLI_CLI_HINTS_H

#include "agent/cli/cli_machine.h"

/* Warn once, when the main loop finds data on standard input: the command does
 * not get it. Nothing is read. A terminal is not watched. */
void cli_hints_watch_input(void);

/* After a command: if it was not found in the image that has few, name the
 * other. */
void cli_hints_tell_not_found(const struct cli_machine *machine, int exit_code);

#endif
