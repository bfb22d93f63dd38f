/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_boot - "stepback doctor --boot": where the time of a start goes.
 */
#ifndef AGENT_CLI_CLI_BOOT_H
#define AGENT_CLI_CLI_BOOT_H

#include "agent/cli/cli_machine.h"

enum { CLI_BOOT_ROUNDS = 3, CLI_BOOT_MAX_ROUNDS = 100 };

/* Start so many machines, over an empty folder of its own, and as many whose
 * guest powers off at once, in turn; print the medians. The exit code. */
int cli_boot(const struct cli_machine *machine, unsigned rounds);

#endif
