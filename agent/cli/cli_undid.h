/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_undid - say in words what undo, redo or a preview did.
 */
#ifndef AGENT_CLI_CLI_UNDID_H
#define AGENT_CLI_CLI_UNDID_H

#include <stdbool.h>

#include "agent/base/undo_result.h"
#include "agent/cli/cli_output.h"

enum cli_deed { CLI_UNDID, CLI_REDID, CLI_WOULD_UNDO };

/* Return one line about a step: "undid step 28: removed three, restored
 * adler32.c". The list of names is bounded, and fits the terminal. A new
 * string. */
char *cli_undid_line(enum cli_deed deed, const struct step_report *report,
                     const struct cli_output *output);

/* Print the steps of an answer. passes: steps that cannot be undone are
 * skipped. */
void cli_undid_print(enum cli_deed deed, bool passes,
                     const struct undo_result *result,
                     const struct cli_output *output);

#endif
