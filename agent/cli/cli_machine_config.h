/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_machine_config - the options of a machine, over the user's defaults, as a
 * session's configuration.
 */
#ifndef AGENT_CLI_CLI_MACHINE_CONFIG_H
#define AGENT_CLI_CLI_MACHINE_CONFIG_H

#include "agent/cli/cli_machine.h"

/* Load the defaults (cli_defaults.h), and check them and the options. Return
 * false if one is invalid; the error was printed in the name of this
 * command. */
bool cli_machine_check(struct cli_machine *machine, const char *command);

/* Build the session configuration: the options over the defaults. On failure
 * return NULL with the errors of session_config_check(). */
struct session_config *cli_machine_config(const struct cli_machine *machine,
                                          GError **error);

/* Build a configuration that has no folder: only what decides the shape of a
 * machine counts. Likewise, but without the checks that need a folder. */
struct session_config *cli_machine_shape(const struct cli_machine *machine,
                                         GError **error);

#endif
