/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_hints - hints of "run" for a user who expects a local shell.
 */
#ifndef AGENT_CLI_CLI_HINTS_H
#define AGENT_CLI_CLI_HINTS_H

#include "agent/cli/cli_machine.h"
#include "agent/sandbox/sandbox_record.h"

/* Warn once when the main loop finds data on standard input, because the
 * command does not receive it. Reads nothing. A terminal is not watched. */
void cli_hints_watch_input(void);

/* If a command was not found in the minimal image, suggest the other image. */
void cli_hints_tell_not_found(const struct cli_machine *machine, int exit_code);

/* The same for a command in a sandbox. words: those of "exec", or NULL; a
 * command line as a single word gets the hint that "exec" has no shell. */
void cli_hints_tell_not_found_in(const struct sandbox_record *record,
                                 char **words, int exit_code);

/* Before a login shell: the minimal image has no shell whose lines are steps.
 */
void cli_hints_tell_one_step(const struct sandbox_record *record);

#endif
