/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_command - see guest_command.h.
 */
#include "agent/machine/guest_command.h"

#include <string.h>

#include "common/json_bytes.h"
#include "shim/wire.h"

static bool is_text(const struct command *command)
{
    const char *const words[] = { command->text, command->cwd };
    char *const *const lists[] = { command->argv, command->env };
    bool text = true;

    for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
        text = text && json_bytes_is_text(words[i], strlen(words[i]));
    for (size_t i = 0; i < G_N_ELEMENTS(lists); i++) {
        for (char *const *word = lists[i]; word && *word; word++)
            text = text && json_bytes_is_text(*word, strlen(*word));
    }
    return text;
}

static json_t *bytes_value(const void *bytes, size_t len, bool base64)
{
    g_autofree char *text = base64 ? g_base64_encode(bytes, len) : NULL;

    return text ? json_string(text) : json_stringn(len > 0 ? bytes : "", len);
}

static json_t *string_value(const char *string, bool base64)
{
    return bytes_value(string, strlen(string), base64);
}

static void add_env(json_t *message, char **env, bool base64)
{
    json_t *object = json_object();

    for (; *env; env++) {
        const char *value = strchr(*env, '=');
        g_autofree char *name = g_strndup(*env, (size_t)(value - *env));

        json_object_set_new(object, name, string_value(value + 1, base64));
    }
    json_object_set_new(message, "env", object);
}

/* Add the program: a shell's line, words, or a login shell. */
static void add_program(json_t *message, const struct command *command,
                        bool base64)
{
    json_t *words;

    if (command->is_login) {
        json_object_set_new(message, "login", json_true());
        if (command->step == COMMAND_PROMPT_STEPS)
            json_object_set_new(message, "prompt", json_true());
        return;
    }
    if (!command->argv) {
        json_object_set_new(message, "command",
                            string_value(command->text, base64));
        return;
    }
    words = json_array();
    for (char **word = command->argv; *word; word++)
        json_array_append_new(words, string_value(*word, base64));
    json_object_set_new(message, "argv", words);
}

static void add_streams(json_t *message, const struct command *command,
                        bool base64)
{
    gsize len;
    const void *input;

    if (command->input) {
        input = g_bytes_get_data(command->input, &len);
        json_object_set_new(message, "input", bytes_value(input, len, base64));
    }
    if (command->streams_input)
        json_object_set_new(message, "stdin", json_true());
    if (command->rows > 0)
        json_object_set_new(message, "tty",
                            json_pack("{s:i, s:i}", "rows", (int)command->rows,
                                      "columns", (int)command->columns));
}

json_t *guest_command_to_json(gint64 id, const struct command *command,
                              size_t window)
{
    gsize len = 0;
    const void *input = command->input ? g_bytes_get_data(command->input, &len)
                                       : NULL;
    bool base64 = !is_text(command) || !json_bytes_is_text(input, len);
    json_t *message = json_pack(
        "{s:s, s:I, s:I, s:I, s:o, s:s*}", "type", WIRE_EXEC, "id",
        (json_int_t)id, "time_us", (json_int_t)g_get_real_time(), "window",
        (json_int_t)window, "cwd", string_value(command->cwd, base64), "user",
        command->user);

    add_program(message, command, base64);
    if (command->env)
        add_env(message, command->env, base64);
    add_streams(message, command, base64);
    if (base64)
        json_bytes_force_base64(message);
    return message;
}

/* Return what a shim without concurrent executions cannot do, or NULL. */
static const char *beyond_old_shims(const struct command *command)
{
    if (command->argv)
        return "to run a program without a shell";
    if (command->is_login)
        return "to run a login shell";
    if (command->user)
        return "to run a command as another user";
    if (command->rows > 0)
        return "to give a command a terminal";
    if (command->streams_input)
        return "to stream standard input";
    if (command->step != COMMAND_ONE_STEP)
        return "to run commands side by side";
    return NULL;
}

const char *guest_command_lacks(const struct guest_abilities *abilities,
                                const struct command *command)
{
    gsize len = 0;
    const void *input = command->input ? g_bytes_get_data(command->input, &len)
                                       : NULL;

    if (command->input && !abilities->takes_input)
        return "to pass input to a command";
    if ((!is_text(command) || !json_bytes_is_text(input, len)) &&
        !abilities->takes_bytes)
        return "to run a command or use a folder whose name is not UTF-8";
    if (command->step == COMMAND_PROMPT_STEPS && !abilities->steps)
        return "to record each line of a shell as a step";
    return abilities->executions > 1 ? NULL : beyond_old_shims(command);
}
