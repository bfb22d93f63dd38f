/* SPDX-License-Identifier: Apache-2.0
 *
 * command_json - see command_json.h.
 */
#include "agent/wire/command_json.h"

#include <string.h>

#include "agent/session/session_events.h"
#include "common/errors.h"
#include "common/json_bytes.h"
#include "common/message.h"

char *command_bytes_from_json(json_t *value, const char *key)
{
    const char *const known[] = { key, "encoding", NULL };
    const char *encoding = json_string_value(
        json_object_get(value, "encoding"));
    g_autofree char *bytes = NULL;
    size_t len = 0;

    if (json_is_string(value)) {
        bytes = g_strdup(json_string_value(value));
        len = json_string_length(value);
    } else if (message_check_known(value, known, NULL) &&
               g_strcmp0(encoding, "base64") == 0) {
        bytes = json_bytes_get(value, key, &len);
    }
    return bytes && strlen(bytes) == len ? g_steal_pointer(&bytes) : NULL;
}

static gboolean invalid(const char *key, GError **error)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                "the field '%s' must be a string, or an object that has the "
                "bytes in base64 with 'encoding', without NUL",
                key);
    return FALSE;
}

static gboolean parse_env(json_t *payload, char ***ret_env, GError **error)
{
    json_t *env = json_object_get(payload, "env"), *value;
    g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(g_free);
    bool ok = !env || json_is_object(env);
    const char *name;

    json_object_foreach(env, name, value)
    {
        g_autofree char *bytes = command_bytes_from_json(value, "value");

        ok = ok && *name && !strchr(name, '=') && bytes;
        g_ptr_array_add(list, g_strconcat(name, "=", bytes, NULL));
    }
    if (!ok) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "the field 'env' must be an object whose members "
                            "are strings, with names that are not empty and "
                            "have no '='");
        return FALSE;
    }
    g_ptr_array_add(list, NULL);
    *ret_env = (char **)g_ptr_array_steal(list, NULL);
    return TRUE;
}

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

static gboolean parse(struct command *command, json_t *payload, GError **error)
{
    json_t *text = json_object_get(payload, "command");
    json_t *cwd = json_object_get(payload, "cwd");

    if (!text) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_MISSING_FIELD,
                            "the field 'command' is missing");
        return FALSE;
    }
    command->text = command_bytes_from_json(text, "command");
    command->cwd = command_bytes_from_json(cwd, "path");
    return (command->text || invalid("command", error)) &&
           (command->cwd || !cwd || invalid("cwd", error)) &&
           parse_timeout(payload, command, error) &&
           parse_env(payload, &command->env, error);
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
