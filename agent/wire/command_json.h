/* SPDX-License-Identifier: Apache-2.0
 *
 * command_json - parse the command of agent.execute and execute_command.
 */
#ifndef AGENT_WIRE_COMMAND_JSON_H
#define AGENT_WIRE_COMMAND_JSON_H

#include <glib.h>
#include <jansson.h>

#include "agent/base/command.h"

/* Read command, cwd, env and timeout_seconds from a payload (borrowed). On
 * failure return NULL with ERROR_MISSING_FIELD or ERROR_INVALID_FIELD. */
struct command *command_from_json(json_t *payload, GError **error);

/* The same for agent.prompt: prompt and timeout_seconds. */
struct command *command_from_prompt_json(json_t *payload, GError **error);

/* Read cwd, env and timeout_seconds. Fails with ERROR_INVALID_FIELD. */
gboolean command_parse_place(json_t *payload, struct command *command,
                             GError **error);

#endif
