/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_end - the end of an execution, as event.exec_exited has it.
 */
#ifndef AGENT_CLI_EXEC_END_H
#define AGENT_CLI_EXEC_END_H

#include <jansson.h>
#include <stdbool.h>

#include "agent/sandbox/sandbox_record.h"

/* Return the exit code for this program. After an error that is not a
 * cancellation set ret_complaint to a new string. */
int exec_end_exit_code(json_t *payload, char **ret_complaint);

/* Print what the step changed. quiet: not if that is nothing. undo_hint: how to
 * undo it; NULL: "stepback undo" in each folder of the sandbox that it changed,
 * as each has a history of its own. */
void exec_end_print_step(const struct sandbox_record *record, json_t *payload,
                         bool quiet, const char *undo_hint);

#endif
