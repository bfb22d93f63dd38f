/* SPDX-License-Identifier: Apache-2.0
 *
 * command_json - see command_json.h.
 */
#include "agent/wire/command_json.h"

#include <string.h>

#include "agent/session/session_events.h"
#include "agent/wire/env_json.h"
#include "agent/wire/payload.h"
#include "common/errors.h"
#include "common/message.h"

static gboolean parse_timeout(json_t *payload, struct command *command,
                              GError **error)
{
    gint64 timeout = 0;

    if (!message_get_optional_int(payload, "timeout_seconds", 1,
                                  SESSION_TIMEOUT_MAX_S, &timeout, error))
        return FALSE;
    command->timeout_seconds = (unsigned)timeout;
    return TRUE;
}

gboolean command_parse_place(json_t *payload, struct command *command,
                             GError **error)
{
    return payload_get_bytes(payload, "cwd", "path", &command->cwd, error) &&
           parse_timeout(payload, command, error) &&
           env_from_json(payload, &command->env, error);
}

static gboolean parse(struct command *command, json_t *payload, GError **error)
{
    return payload_check_has(payload, "command", error) &&
           payload_get_bytes(payload, "command", "command", &command->text,
                             error) &&
           command_parse_place(payload, command, error);
}

struct command *command_from_json(json_t *payload, GError **error)
{
    struct command *command = command_new(NULL);

    if (parse(command, payload, error))
        return command;
    command_free(command);
    return NULL;
}

struct command *command_from_prompt_json(json_t *payload, GError **error)
{
    struct command *command = command_new(NULL);
    const char *prompt;

    command->is_prompt = true;
    if (message_get_string(payload, "prompt", &prompt, error) &&
        parse_timeout(payload, command, error)) {
        command->input = g_bytes_new(prompt, strlen(prompt));
        return command;
    }
    command_free(command);
    return NULL;
}
