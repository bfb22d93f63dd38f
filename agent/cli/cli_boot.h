/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_boot - "stepback doctor --boot": measure the parts of a start.
 */
#ifndef AGENT_CLI_CLI_BOOT_H
#define AGENT_CLI_CLI_BOOT_H

#include <stdbool.h>

#include "agent/cli/cli_machine.h"

enum { CLI_BOOT_ROUNDS = 3, CLI_BOOT_MAX_ROUNDS = 100 };

/* Start the given number of machines over an empty temporary folder,
 * alternating with machines whose guest powers off at once; print the medians,
 * with json as an object. Returns the exit code. */
int cli_boot(const struct cli_machine *machine, unsigned rounds, bool json);

#endif
