/* SPDX-License-Identifier: Apache-2.0
 *
 * dispatch_exec - see dispatch_exec.h.
 */
#include "shim/dispatch_exec.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "shim/terminal.h"
#include "shim/wire.h"

#define MAX_TERMINAL_SIZE 65535

/* ---- members of a message ------------------------------------------------ */

/* Read an optional member, which must be a string without NUL. */
static bool take_string(const struct json_value *object, const char *key,
                        const char **ret_text)
{
    return !json_reader_member(object, key) ||
           json_reader_get_string(object, key, ret_text);
}

static bool take_bool(const struct json_value *object, const char *key,
                      bool *ret_value)
{
    return !json_reader_member(object, key) ||
           json_reader_get_bool(object, key, ret_value);
}

static bool take_size(const struct json_value *object, const char *key,
                      unsigned *ret_size)
{
    int64_t value;

    if (!json_reader_get_integer(object, key, &value) || value < 1 ||
        value > MAX_TERMINAL_SIZE)
        return false;
    *ret_size = (unsigned)value;
    return true;
}

/* ---- exec ---------------------------------------------------------------- */

static bool read_streams(const struct json_value *object,
                         struct execution_request *request,
                         const char **ret_error)
{
    const struct json_value *tty = json_reader_member(object, "tty");
    const struct json_value *window = json_reader_member(object, "window");

    request->spawn.input = json_reader_member(object, "input");
    *ret_error = "input must be a string";
    if (request->spawn.input &&
        request->spawn.input->type != JSON_READER_STRING)
        return false;
    *ret_error = "stdin must be true or false";
    if (!take_bool(object, "stdin", &request->has_input))
        return false;
    *ret_error = "tty needs rows and columns from 1 to 65535";
    if (tty && (!take_size(tty, "rows", &request->rows) ||
                !take_size(tty, "columns", &request->columns)))
        return false;
    request->has_terminal = tty;
    *ret_error = "window must not be negative";
    request->credit.limited = window;
    if (window &&
        (!json_reader_get_integer(object, "window", &request->credit.left) ||
         request->credit.left < 0))
        return false;
    *ret_error = "input excludes stdin and tty";
    return !request->spawn.input || (!request->has_input && !tty);
}

static bool decode_all(struct json_reader *reader,
                       const struct json_value *values)
{
    for (const struct json_value *value = values ? values->first : NULL; value;
         value = value->next) {
        if (!json_reader_decode_base64(reader, value))
            return false;
    }
    return true;
}

/* Decode the byte members of an exec that uses base64. */
static bool decode_exec(struct json_reader *reader,
                        const struct json_value *object)
{
    static const char *const keys[] = { "command", "cwd", "input" };
    const char *encoding;

    if (!json_reader_member(object, "encoding"))
        return true;
    if (!json_reader_get_string(object, "encoding", &encoding) ||
        strcmp(encoding, WIRE_ENCODING_BASE64) != 0)
        return false;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const struct json_value *value = json_reader_member(object, keys[i]);

        if (value && !json_reader_decode_base64(reader, value))
            return false;
    }
    return decode_all(reader, json_reader_member(object, "argv")) &&
           decode_all(reader, json_reader_member(object, "env"));
}

static bool read_program(const struct json_value *object,
                         struct spawn_request *spawn, const char **ret_error)
{
    spawn->argv = json_reader_member(object, "argv");
    spawn->env = json_reader_member(object, "env");
    *ret_error = "exec needs an id and a command, argv or login";
    if (!json_reader_get_integer(object, "id", &spawn->id) ||
        !take_string(object, "command", &spawn->command) ||
        !take_bool(object, "login", &spawn->login) ||
        !!spawn->command + !!spawn->argv + spawn->login != 1)
        return false;
    *ret_error = "prompt must be true or false, and needs login";
    if (!take_bool(object, "prompt", &spawn->prompt) ||
        (spawn->prompt && !spawn->login))
        return false;
    *ret_error = "cwd must be a string without NUL";
    if (!take_string(object, "cwd", &spawn->cwd))
        return false;
    *ret_error = "user must be a string without NUL";
    if (!take_string(object, "user", &spawn->user))
        return false;
    return spawn_check(spawn, ret_error);
}

void dispatch_exec(struct dispatch *dispatch,
                   const struct dispatch_message *message)
{
    const struct json_value *object = message->object;
    struct execution_request request = { 0 };
    struct execution *slot;
    const char *error;
    int64_t time_us;
    int result;

    if (!decode_exec(dispatch->reader, object)) {
        dispatch_error(dispatch, object, "exec is not valid base64");
        return;
    }
    if (!read_program(object, &request.spawn, &error) ||
        !read_streams(object, &request, &error)) {
        dispatch_error(dispatch, object, "%s", error);
        return;
    }
    if (executions_find(dispatch->executions, request.spawn.id)) {
        dispatch_error(dispatch, object,
                       "the id is in use by a running execution");
        return;
    }
    slot = executions_free_slot(dispatch->executions);
    if (!slot) {
        dispatch_error(dispatch, object, "%d executions are already running",
                       WIRE_MAX_EXECUTIONS);
        return;
    }
    if (dispatch->is_init &&
        json_reader_get_integer(object, "time_us", &time_us))
        guest_set_clock(time_us);
    result = execution_start(slot, &request, &dispatch->executions->context);
    if (result)
        dispatch_error(dispatch, object, "cannot start the command: %s",
                       strerror(-result));
}

/* ---- messages to a running execution ------------------------------------- */

/* Find a running execution. Return NULL if there is none, after reporting it,
 * unless the message crossed the execution's end. */
static struct execution *find(struct dispatch *dispatch,
                              const struct dispatch_message *message,
                              const char *type)
{
    struct execution *execution;
    int64_t id;

    if (!json_reader_get_integer(message->object, "id", &id)) {
        dispatch_error(dispatch, message->object, "%s needs an id", type);
        return NULL;
    }
    execution = executions_find(dispatch->executions, id);
    if (!execution && !executions_has_ended(dispatch->executions, id))
        dispatch_error(dispatch, message->object, "no such command is running");
    return execution;
}

void dispatch_cancel(struct dispatch *dispatch,
                     const struct dispatch_message *message)
{
    struct execution *execution = find(dispatch, message, WIRE_CANCEL);

    if (execution)
        execution_cancel(execution, message->now_ms);
}

void dispatch_credit(struct dispatch *dispatch,
                     const struct dispatch_message *message)
{
    struct execution *execution = find(dispatch, message, WIRE_CREDIT);
    int64_t bytes;

    if (!execution)
        return;
    if (!json_reader_get_integer(message->object, "bytes", &bytes) ||
        bytes < 0 ||
        __builtin_add_overflow(execution->credit.left, bytes, &bytes))
        dispatch_error(dispatch, message->object,
                       "credit needs bytes, which must not be negative");
    else
        execution->credit.left = bytes;
}

void dispatch_input(struct dispatch *dispatch,
                    const struct dispatch_message *message)
{
    struct execution *execution = find(dispatch, message, WIRE_INPUT);
    const struct json_value *object = message->object;
    const struct json_value *data = json_reader_member(object, "data");
    const char *encoding = NULL;
    bool end = false;

    if (!execution)
        return;
    if ((data && data->type != JSON_READER_STRING) ||
        !take_string(object, "encoding", &encoding) ||
        !take_bool(object, "eof", &end) ||
        (encoding && (strcmp(encoding, WIRE_ENCODING_BASE64) != 0 || !data ||
                      !json_reader_decode_base64(dispatch->reader, data)))) {
        dispatch_error(dispatch, object,
                       "input needs data, text or base64, "
                       "and eof as true or false, if at all");
        return;
    }
    if (data && !exec_input_add(&execution->input, data->text, data->len)) {
        dispatch_error(dispatch, object, "input exceeds its window");
        return;
    }
    if (end)
        exec_input_end(&execution->input);
}

void dispatch_resize(struct dispatch *dispatch,
                     const struct dispatch_message *message)
{
    struct execution *execution = find(dispatch, message, WIRE_RESIZE);
    unsigned rows, columns;

    if (!execution)
        return;
    if (!take_size(message->object, "rows", &rows) ||
        !take_size(message->object, "columns", &columns))
        dispatch_error(dispatch, message->object,
                       "resize needs rows and columns from 1 to 65535");
    else if (!execution->has_terminal)
        dispatch_error(dispatch, message->object,
                       "the execution has no terminal");
    else if (execution->state == EXECUTION_RUNNING)
        terminal_resize(execution->outputs[0].fd, rows, columns);
}

void dispatch_signal(struct dispatch *dispatch,
                     const struct dispatch_message *message)
{
    struct execution *execution = find(dispatch, message, WIRE_SIGNAL);
    int64_t number;
    int result;

    if (!execution)
        return;
    if (!json_reader_get_integer(message->object, "signal", &number) ||
        number < 1 || number >= NSIG) {
        dispatch_error(dispatch, message->object,
                       "signal needs a signal number");
        return;
    }
    result = execution_signal(execution, (int)number);
    if (result && result != -ESRCH)
        dispatch_error(dispatch, message->object, "cannot send the signal: %s",
                       strerror(-result));
}
