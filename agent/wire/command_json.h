/* SPDX-License-Identifier: Apache-2.0
 *
 * command_json - a command of agent.execute and of execute_command.
 */
#ifndef AGENT_WIRE_COMMAND_JSON_H
#define AGENT_WIRE_COMMAND_JSON_H

#include <glib.h>
#include <jansson.h>

#include "agent/base/command.h"

/* Read command, cwd, env and timeout_seconds of a payload (borrowed). NULL and
 * error: ERROR_MISSING_FIELD, ERROR_INVALID_FIELD. */
struct command *command_from_json(json_t *payload, GError **error);

/* The same of agent.prompt: prompt and timeout_seconds. */
struct command *command_from_prompt_json(json_t *payload, GError **error);

#endif
