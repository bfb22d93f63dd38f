/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_terminal - what the terminal at an fd can do.
 */
#ifndef AGENT_CLI_CLI_TERMINAL_H
#define AGENT_CLI_CLI_TERMINAL_H

#include <stdbool.h>

/* Return whether fd is a terminal that moves its cursor. */
bool cli_terminal_moves(int fd);

/* Return the width of the terminal at fd, in columns. */
unsigned cli_terminal_width(int fd);

/* Return the width that lists are fitted to: 0, no limit, if fd is no
 * terminal. */
unsigned cli_terminal_fit_width(int fd);

#endif
