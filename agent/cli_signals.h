/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_signals - signals that end a program, and who does not want them.
 */
#ifndef AGENT_CLI_SIGNALS_H
#define AGENT_CLI_SIGNALS_H

#include <stdbool.h>

/* Whether who started us wants the signal ignored, as nohup(1) does and a shell
 * for what runs in its background. Then it is to be left so. */
bool cli_signals_is_ignored(int number);

#endif
