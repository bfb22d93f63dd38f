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
static bool take_string(json_t *object, const char *key, const char **ret_text)
{
    return !json_object_get(object, key) ||
           wire_get_string(object, key, ret_text);
}

static bool take_bool(json_t *object, const char *key, bool *ret_value)
{
    return !json_object_get(object, key) ||
           wire_get_bool(object, key, ret_value);
}

static bool take_size(json_t *object, const char *key, unsigned *ret_size)
{
    int64_t value;

    if (!wire_get_integer(object, key, &value) || value < 1 ||
        value > MAX_TERMINAL_SIZE)
        return false;
    *ret_size = (unsigned)value;
    return true;
}

/* ---- exec ---------------------------------------------------------------- */

static bool read_streams(json_t *object, struct execution_request *request,
                         const char **ret_error)
{
    json_t *tty = json_object_get(object, "tty");
    json_t *window = json_object_get(object, "window");

    request->spawn.input = json_object_get(object, "input");
    *ret_error = "input must be a string";
    if (request->spawn.input && !json_is_string(request->spawn.input))
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
    if (window && (!wire_get_integer(object, "window", &request->credit.left) ||
                   request->credit.left < 0))
        return false;
    *ret_error = "input excludes stdin and tty";
    return !request->spawn.input || (!request->has_input && !tty);
}

static bool decode_argv(json_t *argv)
{
    json_t *word;
    size_t i;

    json_array_foreach(argv, i, word)
    {
        if (json_array_set_new(argv, i, wire_decode(word)) < 0)
            return false;
    }
    return true;
}

static bool decode_env(json_t *env)
{
    json_t *value;
    const char *name;
    void *next;

    json_object_foreach_safe(env, next, name, value)
    {
        if (json_object_set_new(env, name, wire_decode(value)) < 0)
            return false;
    }
    return true;
}

/* Decode the byte members of an exec that uses base64. */
static bool decode_exec(json_t *object)
{
    static const char *const keys[] = { "command", "cwd", "input" };
    const char *encoding;

    if (!json_object_get(object, "encoding"))
        return true;
    if (!wire_get_string(object, "encoding", &encoding) ||
        strcmp(encoding, WIRE_ENCODING_BASE64) != 0)
        return false;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        json_t *value = json_object_get(object, keys[i]);

        if (value &&
            json_object_set_new(object, keys[i], wire_decode(value)) < 0)
            return false;
    }
    return decode_argv(json_object_get(object, "argv")) &&
           decode_env(json_object_get(object, "env"));
}

static bool read_program(json_t *object, struct spawn_request *spawn,
                         const char **ret_error)
{
    spawn->argv = json_object_get(object, "argv");
    spawn->env = json_object_get(object, "env");
    *ret_error = "exec needs an id and a command, argv or login";
    if (!wire_get_integer(object, "id", &spawn->id) ||
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
    json_t *object = message->object;
    struct execution_request request = { 0 };
    struct execution *slot;
    const char *error;
    int64_t time_us;
    int result;

    if (!decode_exec(object)) {
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
    if (dispatch->is_init && wire_get_integer(object, "time_us", &time_us)) {
        guest_set_clock(time_us,
                        dispatch->clock_is_set ? WIRE_CLOCK_AHEAD_US : 0);
        dispatch->clock_is_set = true;
    }
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

    if (!wire_get_integer(message->object, "id", &id)) {
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
    if (!wire_get_integer(message->object, "bytes", &bytes) || bytes < 0 ||
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
    json_t *object = message->object;
    json_t *data = json_object_get(object, "data");
    const char *encoding = NULL;
    bool end = false;

    if (!execution)
        return;
    if ((data && !json_is_string(data)) ||
        !take_string(object, "encoding", &encoding) ||
        !take_bool(object, "eof", &end) ||
        (encoding &&
         (strcmp(encoding, WIRE_ENCODING_BASE64) != 0 ||
          json_object_set_new(object, "data", wire_decode(data)) < 0))) {
        dispatch_error(dispatch, object,
                       "input needs data, text or base64, "
                       "and eof as true or false, if at all");
        return;
    }
    data = json_object_get(object, "data");
    if (data && !exec_input_add(&execution->input, json_string_value(data),
                                json_string_length(data))) {
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
    if (!wire_get_integer(message->object, "signal", &number) || number < 1 ||
        number >= NSIG) {
        dispatch_error(dispatch, message->object,
                       "signal needs a signal number");
        return;
    }
    result = execution_signal(execution, (int)number);
    if (result && result != -ESRCH)
        dispatch_error(dispatch, message->object, "cannot send the signal: %s",
                       strerror(-result));
}
