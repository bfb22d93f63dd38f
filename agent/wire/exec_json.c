/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_json - see exec_json.h.
 */
#include "agent/wire/exec_json.h"

#include <signal.h>
#include <string.h>

#include "agent/base/signals.h"
#include "agent/client/report_json.h"
#include "agent/wire/command_json.h"
#include "agent/wire/error_json.h"
#include "agent/wire/payload.h"
#include "common/errors.h"
#include "common/json_bytes.h"
#include "common/message.h"
#include "shim/wire.h"

enum { SIZE_MAX_CELLS = 10000 };

/* ---- exec.start ---------------------------------------------------------- */

/* The history shows words as a shell would read them. */
static char *quote_words(char **words)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (; *words; words++) {
        bool plain = **words &&
                     !words[0][strcspn(*words, " \t\n'\"\\$`|&;<>()*?"
                                               "[]#~=%!{}")];
        g_autofree char *quoted = plain ? NULL : g_shell_quote(*words);

        g_string_append_printf(text, "%s%s", text->len ? " " : "",
                               quoted ? quoted : *words);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static gboolean parse_argv(json_t *payload, struct command *command,
                           GError **error)
{
    json_t *argv = json_object_get(payload, "argv"), *word;
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    bool ok = json_array_size(argv) > 0 &&
              json_array_size(argv) <= WIRE_MAX_ARGS;
    size_t i;

    json_array_foreach(argv, i, word)
    {
        char *bytes = payload_bytes(word, "value");

        ok = ok && bytes && (i > 0 || *bytes);
        g_ptr_array_add(words, bytes);
    }
    if (!ok)
        return payload_invalid(
            "argv",
            "must be an array of 1 to 4096 strings, the first one "
            "not empty",
            error);
    g_ptr_array_add(words, NULL);
    command->argv = (char **)g_ptr_array_steal(words, NULL);
    command->text = quote_words(command->argv);
    return TRUE;
}

/* Exactly one of command, argv and login. */
static gboolean parse_program(json_t *payload, struct command *command,
                              GError **error)
{
    bool has_command = json_object_get(payload, "command") != NULL;
    bool has_argv = json_object_get(payload, "argv") != NULL;

    command->is_login = json_is_true(json_object_get(payload, "login"));
    if (has_command + has_argv + command->is_login != 1) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_MISSING_FIELD,
                            "exactly one of the fields 'command', 'argv' and "
                            "'login' (true) is required");
        return FALSE;
    }
    if (has_argv)
        return parse_argv(payload, command, error);
    if (has_command)
        return payload_get_bytes(payload, "command", "command", &command->text,
                                 error);
    command->text = g_strdup("(login shell)");
    return TRUE;
}

gboolean exec_size_from_json(json_t *payload, unsigned *ret_rows,
                             unsigned *ret_columns, GError **error)
{
    gint64 rows, columns;

    if (!message_get_int(payload, "rows", 1, SIZE_MAX_CELLS, &rows, error) ||
        !message_get_int(payload, "columns", 1, SIZE_MAX_CELLS, &columns,
                         error))
        return FALSE;
    *ret_rows = (unsigned)rows;
    *ret_columns = (unsigned)columns;
    return TRUE;
}

static gboolean parse_terminal(json_t *payload, struct command *command,
                               GError **error)
{
    json_t *tty = json_object_get(payload, "tty");

    if (!tty)
        return TRUE;
    if (!json_is_object(tty))
        return payload_invalid("tty", "must be an object with rows and columns",
                               error);
    command->streams_input = true;
    return exec_size_from_json(tty, &command->rows, &command->columns, error);
}

static gboolean parse_step(json_t *payload, struct command *command,
                           GError **error)
{
    const char *step = "one";

    if (!message_get_optional_string(payload, "step", &step, error))
        return FALSE;
    if (strcmp(step, "none") == 0)
        command->step = COMMAND_NO_STEP;
    else if (strcmp(step, "prompt") == 0)
        command->step = COMMAND_PROMPT_STEPS;
    else if (strcmp(step, "one") != 0)
        return payload_invalid(
            "step", "must be \"one\", \"prompt\" or \"none\"", error);
    return command->step != COMMAND_PROMPT_STEPS || command->is_login ||
           payload_invalid("step",
                           "\"prompt\" needs a login shell with a terminal; "
                           "set \"login\"",
                           error);
}

static gboolean parse_words(json_t *payload, struct command *command,
                            GError **error)
{
    const char *user = NULL, *label = NULL;

    if (!message_get_optional_string(payload, "user", &user, error) ||
        !message_get_optional_string(payload, "label", &label, error))
        return FALSE;
    if (label && strlen(label) > 256)
        return payload_invalid("label", "must be at most 256 bytes long",
                               error);
    command->user = g_strdup(user);
    command->label = g_strdup(label);
    return TRUE;
}

struct command *exec_command_from_json(json_t *payload, GError **error)
{
    struct command *command = command_new(NULL);

    command->streams_input = json_is_true(json_object_get(payload, "stdin"));
    if (parse_program(payload, command, error) &&
        command_parse_place(payload, command, error) &&
        parse_terminal(payload, command, error) &&
        parse_step(payload, command, error) &&
        parse_words(payload, command, error))
        return command;
    command_free(command);
    return NULL;
}

gboolean exec_signal_from_json(json_t *payload, int *ret_number, GError **error)
{
    json_t *value = json_object_get(payload, "signal");

    if (!payload_check_has(payload, "signal", error))
        return FALSE;
    *ret_number = json_is_integer(value)
                      ? (int)CLAMP(json_integer_value(value), 0, 1000)
                  : json_is_string(value)
                      ? signals_number(json_string_value(value))
                      : 0;
    if (*ret_number < 1 || *ret_number > 64)
        return payload_invalid(
            "signal",
            "must be a number from 1 to 64, or a name such as "
            "\"TERM\"",
            error);
    return TRUE;
}

/* ---- answers and events -------------------------------------------------- */

json_t *exec_exit_to_json(const struct exec_exit *exit)
{
    json_t *payload = json_pack("{s:I, s:i}", "exec_id",
                                (json_int_t)exit->exec_id, "exit_code",
                                exit->end.exit_code);

    if (exit->end.signal)
        json_object_set_new(payload, "signal", json_integer(exit->end.signal));
    if (exit->end.oom_kills)
        json_object_set_new(payload, "oom_kills",
                            json_integer(exit->end.oom_kills));
    if (exit->step_id)
        json_object_set_new(payload, "step_id", json_integer(exit->step_id));
    if (exit->report)
        json_object_set_new(payload, "report", report_to_json(exit->report));
    if (exit->error)
        json_object_set_new(payload, "error", error_to_json(exit->error));
    return payload;
}

static const char *step_name(enum command_step step)
{
    return step == COMMAND_NO_STEP        ? "none"
           : step == COMMAND_PROMPT_STEPS ? "prompt"
                                          : "one";
}

static const char *state_name(enum exec_state state)
{
    return state == EXEC_WAITING   ? "waiting"
           : state == EXEC_RUNNING ? "running"
                                   : "ended";
}

static void set_time(json_t *payload, const char *key, gint64 us)
{
    g_autoptr(GDateTime) time = us ? g_date_time_new_from_unix_utc(us / 1000000)
                                   : NULL;
    g_autofree char *text = time
                                ? g_date_time_format(time, "%Y-%m-%dT%H:%M:%SZ")
                                : NULL;

    if (text)
        json_object_set_new(payload, key, json_string(text));
}

json_t *exec_info_to_json(const struct exec_info *info)
{
    json_t *payload = json_pack(
        "{s:I, s:s, s:b, s:b, s:s, s:I, s:s*}", "exec_id",
        (json_int_t)info->exec_id, "state", state_name(info->state), "attached",
        info->attached, "tty", info->has_terminal, "step",
        step_name(info->step), "output_bytes", (json_int_t)info->output_bytes,
        "label", info->label);

    json_object_set_new(payload, "command", json_bytes_path(info->command));
    if (info->step_id)
        json_object_set_new(payload, "step_id", json_integer(info->step_id));
    set_time(payload, "started", info->started);
    set_time(payload, "ended", info->ended);
    if (info->state == EXEC_ENDED)
        json_object_set_new(payload, "exit_code",
                            json_integer(info->exit_code));
    return payload;
}

static json_t *chunk_to_json(bool is_stderr, const char *data, size_t len)
{
    json_t *chunk = json_pack("{s:s}", "stream",
                              is_stderr ? "stderr" : "stdout");

    json_bytes_set(chunk, "data", data, len);
    return chunk;
}

json_t *exec_reading_to_json(const struct exec_reading *reading)
{
    json_t *chunks = json_array();

    for (guint i = 0; i < reading->chunks->len; i++) {
        const struct exec_chunk *chunk = g_ptr_array_index(reading->chunks, i);

        json_array_append_new(chunks,
                              chunk_to_json(chunk->is_stderr, chunk->data->str,
                                            chunk->data->len));
    }
    return json_pack("{s:o, s:I, s:I, s:b}", "output", chunks, "next",
                     (json_int_t)reading->next, "gone_bytes",
                     (json_int_t)reading->gone, "ended", reading->ended);
}

json_t *exec_output_to_json(const struct command_output *output)
{
    json_t *payload = chunk_to_json(output->is_stderr, output->data,
                                    output->len);

    json_object_set_new(payload, "exec_id", json_integer(output->exec_id));
    return payload;
}
