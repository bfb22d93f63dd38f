/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_turn - whether an execution waits for its turn, and for which other one.
 *
 * Threads: any.
 */
#ifndef AGENT_CLI_EXEC_TURN_H
#define AGENT_CLI_EXEC_TURN_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* payload: of the response to exec.list. Return whether the execution waits.
 * ret_blocker: the one that runs with a step, or 0. */
bool exec_turn_waits(json_t *payload, gint64 id, gint64 *ret_blocker);

#endif
