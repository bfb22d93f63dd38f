/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_warnings - the warnings of a sandbox while an execution is attached.
 *
 * With a terminal they wait for the end: a line would break into what a program
 * shows.
 */
#ifndef AGENT_CLI_EXEC_WARNINGS_H
#define AGENT_CLI_EXEC_WARNINGS_H

#include <jansson.h>
#include <stdbool.h>

struct exec_warnings;

/* all: print every warning, not only those about the network and the steps of
 * the execution. waits: print at the end. */
struct exec_warnings *exec_warnings_new(bool all, bool waits);
void exec_warnings_free(struct exec_warnings *warnings);

/* Note a step of the execution: the payload of event.step_started (borrowed).
 */
void exec_warnings_add_step(struct exec_warnings *warnings, json_t *payload);

/* Print or keep a warning: the payload of event.warning (borrowed). */
void exec_warnings_take(struct exec_warnings *warnings, json_t *payload);

/* Print those that wait. */
void exec_warnings_print(const struct exec_warnings *warnings);

#endif
