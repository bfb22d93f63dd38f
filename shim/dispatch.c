/* SPDX-License-Identifier: Apache-2.0
 *
 * dispatch - see dispatch.h; wire.h draws the messages.
 */
#include "config.h"
#include "shim/dispatch.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "shim/wire.h"

/* What a message is, for its handler. */
struct message {
    const struct json_value *object;
    int64_t now_ms;
};

/* Queue an error; id is added if the message has one. */
__attribute__((format(printf, 3, 4))) static void
send_error(struct dispatch *dispatch, const struct json_value *object,
           const char *format, ...)
{
    struct json_writer writer;
    char text[256];
    int64_t id;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    port_begin(dispatch->port, &writer);
    json_writer_add_string(&writer, "type", WIRE_ERROR);
    json_writer_add_string(&writer, "message", text);
    if (json_reader_get_integer(object, "id", &id))
        json_writer_add_integer(&writer, "id", id);
    port_end(dispatch->port, &writer);
}

static void add_times(const struct guest_boot *boot, struct json_writer *writer)
{
    if (boot->init_ms > 0)
        json_writer_add_integer(writer, "init_ms", boot->init_ms);
    json_writer_add_integer(writer, "shim_ms", boot->shim_ms);
    json_writer_add_integer(writer, "uptime_ms", guest_uptime_ms());
}

void dispatch_send_hello(struct dispatch *dispatch)
{
    struct json_writer writer;
    struct utsname names;

    uname(&names);
    port_begin(dispatch->port, &writer);
    json_writer_add_string(&writer, "type", WIRE_HELLO);
    json_writer_add_integer(&writer, "version", WIRE_VERSION);
    json_writer_add_string(&writer, "shim_version", PACKAGE_VERSION);
    json_writer_add_string(&writer, "kernel", names.release);
    json_writer_add_integer(&writer, "takes_input", 1);
    json_writer_add_integer(&writer, "takes_bytes", 1);
    add_times(&dispatch->boot, &writer);
    port_end(dispatch->port, &writer);
}

static void handle_hello(struct dispatch *dispatch,
                         const struct message *message)
{
    dispatch_send_hello(dispatch);
}

/* Decode the members of an exec that are bytes, if they are base64. */
static bool decode_exec(struct dispatch *dispatch,
                        const struct json_value *object)
{
    static const char *const keys[] = { "command", "cwd", "input" };
    const struct json_value *env = json_reader_member(object, "env");
    const char *encoding;

    if (!json_reader_member(object, "encoding"))
        return true;
    if (!json_reader_get_string(object, "encoding", &encoding) ||
        strcmp(encoding, WIRE_ENCODING_BASE64) != 0)
        return false;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const struct json_value *value = json_reader_member(object, keys[i]);

        if (value && !json_reader_decode_base64(&dispatch->reader, value))
            return false;
    }
    for (const struct json_value *variable = env ? env->first : NULL; variable;
         variable = variable->next) {
        if (!json_reader_decode_base64(&dispatch->reader, variable))
            return false;
    }
    return true;
}

static void handle_exec(struct dispatch *dispatch,
                        const struct message *message)
{
    const struct json_value *object = message->object;
    struct spawn_request request = { .cwd = WIRE_DEFAULT_CWD };
    const char *env_error;
    int64_t time_us;
    int result;

    if (!decode_exec(dispatch, object)) {
        send_error(dispatch, object, "exec is not the base64 that it says");
        return;
    }
    if (!json_reader_get_integer(object, "id", &request.id) ||
        !json_reader_get_string(object, "command", &request.text)) {
        send_error(dispatch, object, "exec needs an id and a command");
        return;
    }
    if (json_reader_member(object, "cwd") &&
        !json_reader_get_string(object, "cwd", &request.cwd)) {
        send_error(dispatch, object, "cwd must be a string without NUL");
        return;
    }
    request.input = json_reader_member(object, "input");
    if (request.input && request.input->type != JSON_READER_STRING) {
        send_error(dispatch, object, "input must be a string");
        return;
    }
    request.env = json_reader_member(object, "env");
    if (!spawn_check_env(request.env, &env_error)) {
        send_error(dispatch, object, "%s", env_error);
        return;
    }
    if (dispatch->command->state != COMMAND_NONE) {
        send_error(dispatch, object, "a command is running already");
        return;
    }
    if (dispatch->is_init &&
        json_reader_get_integer(object, "time_us", &time_us))
        guest_set_clock(time_us);
    result = command_start(dispatch->command, &request, dispatch->home,
                           dispatch->port);
    if (result)
        send_error(dispatch, object, "cannot start the command: %s",
                   strerror(-result));
}

static void handle_cancel(struct dispatch *dispatch,
                          const struct message *message)
{
    int64_t id;

    if (!json_reader_get_integer(message->object, "id", &id))
        send_error(dispatch, message->object, "cancel needs an id");
    else if (!command_cancel(dispatch->command, id, message->now_ms))
        send_error(dispatch, message->object, "no such command is running");
}

static void handle_rollback_notify(struct dispatch *dispatch,
                                   const struct message *message)
{
    struct json_writer writer;
    int64_t step_id;

    if (!json_reader_get_integer(message->object, "step_id", &step_id)) {
        send_error(dispatch, message->object,
                   "rollback_notify needs a step_id");
        return;
    }
    port_begin(dispatch->port, &writer);
    json_writer_add_string(&writer, "type", WIRE_ROLLBACK_NOTED);
    json_writer_add_integer(&writer, "step_id", step_id);
    port_end(dispatch->port, &writer);
}

static void send_mounted(struct dispatch *dispatch, const char *tag,
                         const char *error)
{
    struct json_writer writer;

    port_begin(dispatch->port, &writer);
    json_writer_add_string(&writer, "type", WIRE_MOUNTED);
    json_writer_add_string(&writer, "tag", tag);
    json_writer_add_string(&writer, "status",
                           error ? WIRE_STATUS_ERROR : WIRE_STATUS_OK);
    if (error)
        json_writer_add_string(&writer, "message", error);
    port_end(dispatch->port, &writer);
}

static void handle_mount(struct dispatch *dispatch,
                         const struct message *message)
{
    const struct json_value *object = message->object;
    struct guest_mount mount = { .aname = "" };
    char error[512];

    if (!json_reader_get_string(object, "tag", &mount.tag) ||
        strlen(mount.tag) > SHARES_MAX_TAG ||
        !json_reader_get_string(object, "path", &mount.path) ||
        !json_reader_get_string(object, "fstype", &mount.fstype) ||
        (json_reader_member(object, "aname") &&
         !json_reader_get_string(object, "aname", &mount.aname)) ||
        (json_reader_member(object, "read_only") &&
         !json_reader_get_bool(object, "read_only", &mount.read_only))) {
        send_error(dispatch, object,
                   "mount needs a tag, a path, a fstype, and aname as a "
                   "string and read_only as true or false, if at all");
        return;
    }
    if (strcmp(mount.fstype, WIRE_FSTYPE_9P) != 0) {
        bool mounted = guest_mount(dispatch->mounts, &mount, error,
                                   sizeof(error));

        send_mounted(dispatch, mount.tag, mounted ? NULL : error);
    } else if (!shares_mount(dispatch->shares, &mount, error, sizeof(error))) {
        send_mounted(dispatch, mount.tag, error);
    }
}

void dispatch_share_news(struct dispatch *dispatch, int fd)
{
    const struct share *share;
    struct json_writer writer;
    char text[512];

    switch (
        shares_take_news(dispatch->shares, fd, &share, text, sizeof(text))) {
    case SHARES_NONE:
        break;
    case SHARES_MOUNTED:
        guest_mounts_add(dispatch->mounts, share->path);
        send_mounted(dispatch, share->tag, NULL);
        break;
    case SHARES_REFUSED:
        send_mounted(dispatch, share->tag, text);
        break;
    case SHARES_UNMOUNTED:
        port_begin(dispatch->port, &writer);
        json_writer_add_string(&writer, "type", WIRE_UNMOUNTED);
        json_writer_add_string(&writer, "tag", share->tag);
        json_writer_add_string(&writer, "message", text);
        port_end(dispatch->port, &writer);
        break;
    }
}

static void handle_shutdown(struct dispatch *dispatch,
                            const struct message *message)
{
    dispatch->shutdown = true;
}

static const struct handler {
    const char *type;
    void (*handle)(struct dispatch *dispatch, const struct message *message);
} handlers[] = {
    { WIRE_HELLO, handle_hello },
    { WIRE_EXEC, handle_exec },
    { WIRE_CANCEL, handle_cancel },
    { WIRE_ROLLBACK_NOTIFY, handle_rollback_notify },
    { WIRE_MOUNT, handle_mount },
    { WIRE_SHUTDOWN, handle_shutdown },
};

static void handle_line(struct dispatch *dispatch, char *line, size_t len,
                        int64_t now_ms)
{
    struct json_reader *reader = &dispatch->reader;
    struct message message = {
        .object = json_reader_parse(reader, line, len),
        .now_ms = now_ms,
    };
    const char *type;

    if (!message.object) {
        send_error(dispatch, NULL, "malformed line at byte %td: %s",
                   reader->at - line, reader->error);
        return;
    }
    if (!json_reader_get_string(message.object, "type", &type)) {
        send_error(dispatch, message.object, "the message has no type");
        return;
    }
    for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
        if (strcmp(handlers[i].type, type) == 0) {
            handlers[i].handle(dispatch, &message);
            return;
        }
    }
    send_error(dispatch, message.object, "unknown message type");
}

void dispatch_lines(struct dispatch *dispatch, int64_t now_ms)
{
    while (!dispatch->shutdown && port_can_answer(dispatch->port)) {
        char *line;
        size_t len;

        switch (port_next_line(dispatch->port, &line, &len)) {
        case PORT_LINE_NONE:
            return;
        case PORT_LINE_TOO_LONG:
            send_error(dispatch, NULL, "a line is longer than %d bytes",
                       WIRE_MAX_LINE);
            break;
        case PORT_LINE_OK:
            handle_line(dispatch, line, len, now_ms);
            break;
        }
    }
}
