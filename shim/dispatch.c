/* SPDX-License-Identifier: Apache-2.0
 *
 * dispatch - see dispatch.h; wire.h defines the messages.
 */
#include "config.h"
#include "shim/dispatch.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "shim/dispatch_exec.h"
#include "shim/setup.h"
#include "shim/wire.h"

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
    json_writer_add_integer(&writer, "reports_ports", 1);
    json_writer_add_integer(&writer, "executions", WIRE_MAX_EXECUTIONS);
    json_writer_add_integer(&writer, "steps", dispatch->steps->listener >= 0);
    json_writer_add_integer(&writer, "finds_processes", 1);
    json_writer_add_integer(&writer, "setup", setup_is_open());
    add_times(&dispatch->boot, &writer);
    port_end(dispatch->port, &writer);
}

static void handle_hello(struct dispatch *dispatch,
                         const struct dispatch_message *message)
{
    dispatch_send_hello(dispatch);
}

static void handle_rollback_notify(struct dispatch *dispatch,
                                   const struct dispatch_message *message)
{
    struct json_writer writer;
    int64_t step_id;

    if (!json_reader_get_integer(message->object, "step_id", &step_id)) {
        dispatch_error(dispatch, message->object,
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
                         const struct dispatch_message *message)
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
        dispatch_error(dispatch, object,
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

static void handle_setup(struct dispatch *dispatch,
                         const struct dispatch_message *message)
{
    struct setup setup = { 0 };
    struct json_writer writer;
    char error[256];
    bool ok;

    json_reader_get_string(message->object, "certificates",
                           &setup.certificates);
    json_reader_get_string(message->object, "git_name", &setup.git_name);
    json_reader_get_string(message->object, "git_email", &setup.git_email);
    ok = setup_apply(&setup, error, sizeof(error));
    port_begin(dispatch->port, &writer);
    json_writer_add_string(&writer, "type", WIRE_SET_UP);
    json_writer_add_string(&writer, "status",
                           ok ? WIRE_STATUS_OK : WIRE_STATUS_ERROR);
    if (!ok)
        json_writer_add_string(&writer, "message", error);
    port_end(dispatch->port, &writer);
}

static void handle_watch_ports(struct dispatch *dispatch,
                               const struct dispatch_message *message)
{
    listeners_watch(dispatch->listeners);
}

static void send_port(struct dispatch *dispatch,
                      const struct listener *listener, bool open)
{
    char address[INET6_ADDRSTRLEN];
    struct json_writer writer;

    inet_ntop(listener->v6 ? AF_INET6 : AF_INET, listener->address, address,
              sizeof(address));
    port_begin(dispatch->port, &writer);
    json_writer_add_string(&writer, "type", WIRE_PORT);
    json_writer_add_integer(&writer, "port", listener->port);
    json_writer_add_string(&writer, "protocol", WIRE_TCP);
    json_writer_add_string(&writer, "address", address);
    json_writer_add_integer(&writer, "open", open);
    port_end(dispatch->port, &writer);
}

void dispatch_listeners(struct dispatch *dispatch, bool busy, int64_t now_ms)
{
    struct listener listener;
    bool open;

    listeners_look(dispatch->listeners, busy, now_ms);
    while (port_can_answer(dispatch->port) &&
           listeners_next(dispatch->listeners, &listener, &open))
        send_port(dispatch, &listener, open);
}

static void handle_bulk_start(struct dispatch *dispatch,
                              const struct dispatch_message *message)
{
    const char *mark;
    int result;

    if (!json_reader_get_string(message->object, "mark", &mark) ||
        strlen(mark) != WIRE_BULK_MARK) {
        dispatch_error(dispatch, message->object,
                       "bulk_start needs a mark of %d bytes", WIRE_BULK_MARK);
        return;
    }
    result = bulk_restart(dispatch->bulk, mark);
    if (result)
        dispatch_error(dispatch, message->object,
                       "cannot start the bulk process: %s", strerror(-result));
}

void dispatch_bulk_news(struct dispatch *dispatch)
{
    struct json_writer writer;

    if (!dispatch->bulk->ended || !port_can_answer(dispatch->port))
        return;
    dispatch->bulk->ended = false;
    port_begin(dispatch->port, &writer);
    json_writer_add_string(&writer, "type", WIRE_BULK_ENDED);
    port_end(dispatch->port, &writer);
}

static void handle_step_answer(struct dispatch *dispatch,
                               const struct dispatch_message *message)
{
    step_server_answer(dispatch->steps, message->object);
}

static void handle_find_processes(struct dispatch *dispatch,
                                  const struct dispatch_message *message)
{
    const struct json_value *pids = json_reader_member(message->object, "pids");
    const struct json_value *pid = pids && pids->type == JSON_READER_ARRAY
                                       ? pids->first
                                       : NULL;
    char text[WIRE_FIND_MAX * sizeof(" -9223372036854775808")] = "";
    struct json_writer writer;
    int64_t request = 0;
    size_t len = 0;

    json_reader_get_integer(message->object, "request", &request);
    for (size_t i = 0; pid && i < WIRE_FIND_MAX; pid = pid->next, i++) {
        int64_t id = pid->is_integer && pid->integer > 0 &&
                             pid->integer <= INT32_MAX
                         ? forks_find(dispatch->forks, (pid_t)pid->integer,
                                      message->now_ms)
                         : 0;

        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%" PRId64,
                                i ? " " : "", id);
    }
    port_begin(dispatch->port, &writer);
    json_writer_add_string(&writer, "type", WIRE_PROCESSES);
    json_writer_add_integer(&writer, "request", request);
    json_writer_add_string(&writer, "executions", text);
    port_end(dispatch->port, &writer);
}

static void handle_shutdown(struct dispatch *dispatch,
                            const struct dispatch_message *message)
{
    dispatch->shutdown = true;
}

static const struct handler {
    const char *type;
    void (*handle)(struct dispatch *dispatch,
                   const struct dispatch_message *message);
} handlers[] = {
    { WIRE_HELLO, handle_hello },
    { WIRE_EXEC, dispatch_exec },
    { WIRE_CREDIT, dispatch_credit },
    { WIRE_INPUT, dispatch_input },
    { WIRE_RESIZE, dispatch_resize },
    { WIRE_SIGNAL, dispatch_signal },
    { WIRE_CANCEL, dispatch_cancel },
    { WIRE_ROLLBACK_NOTIFY, handle_rollback_notify },
    { WIRE_MOUNT, handle_mount },
    { WIRE_SETUP, handle_setup },
    { WIRE_WATCH_PORTS, handle_watch_ports },
    { WIRE_STEP_ANSWER, handle_step_answer },
    { WIRE_FIND_PROCESSES, handle_find_processes },
    { WIRE_BULK_START, handle_bulk_start },
    { WIRE_SHUTDOWN, handle_shutdown },
};

static void handle_line(struct dispatch *dispatch, char *line, size_t len,
                        int64_t now_ms)
{
    struct json_reader *reader = dispatch->reader;
    struct dispatch_message message = {
        .object = json_reader_parse(reader, line, len),
        .now_ms = now_ms,
    };
    const char *type;

    if (!message.object) {
        dispatch_error(dispatch, NULL, "malformed line at byte %td: %s",
                       reader->at - line, reader->error);
        return;
    }
    if (!json_reader_get_string(message.object, "type", &type)) {
        dispatch_error(dispatch, message.object, "the message has no type");
        return;
    }
    for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
        if (strcmp(handlers[i].type, type) == 0) {
            handlers[i].handle(dispatch, &message);
            return;
        }
    }
    dispatch_error(dispatch, message.object, "unknown message type");
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
            dispatch_error(dispatch, NULL, "the line is longer than %d bytes",
                           WIRE_MAX_LINE);
            break;
        case PORT_LINE_OK:
            handle_line(dispatch, line, len, now_ms);
            break;
        }
    }
}
