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
#include "shim/renew.h"
#include "shim/setup.h"
#include "shim/wire.h"

void dispatch_send_hello(struct dispatch *dispatch)
{
    const struct guest_boot *boot = &dispatch->boot;
    struct utsname names;
    json_t *hello;

    uname(&names);
    hello = json_pack(
        "{s:s, s:i, s:s, s:o, s:i, s:i, s:i, s:i, s:i, s:i, s:i, "
        "s:i, s:i, s:i}",
        "type", WIRE_HELLO, "version", WIRE_VERSION, "shim_version",
        PACKAGE_VERSION, "kernel", wire_text(names.release), "takes_input", 1,
        "takes_bytes", 1, "reports_ports", 1, "executions", WIRE_MAX_EXECUTIONS,
        "steps", dispatch->steps->listener >= 0, "finds_processes", 1, "setup",
        setup_is_open(), "plugs_folders", 1, "renews", dispatch->is_init,
        "refreshes", 1);
    if (boot->init_ms > 0)
        json_object_set_new(hello, "init_ms", json_integer(boot->init_ms));
    json_object_set_new(hello, "shim_ms", json_integer(boot->shim_ms));
    json_object_set_new(hello, "uptime_ms", json_integer(guest_uptime_ms()));
    port_send(dispatch->port, hello);
}

static void handle_hello(struct dispatch *dispatch,
                         const struct dispatch_message *message)
{
    dispatch_send_hello(dispatch);
}

static void send_mounted(struct dispatch *dispatch, const char *tag,
                         const char *error)
{
    json_t *message = json_pack("{s:s, s:s, s:s}", "type", WIRE_MOUNTED, "tag",
                                tag, "status",
                                error ? WIRE_STATUS_ERROR : WIRE_STATUS_OK);

    if (error)
        json_object_set_new(message, "message", wire_text(error));
    port_send(dispatch->port, message);
}

static void handle_mount(struct dispatch *dispatch,
                         const struct dispatch_message *message)
{
    json_t *object = message->object;
    struct guest_mount mount = { .aname = "" };
    char error[512];

    if (!wire_get_string(object, "tag", &mount.tag) ||
        strlen(mount.tag) > SHARES_MAX_TAG ||
        !wire_get_string(object, "path", &mount.path) ||
        !wire_get_string(object, "fstype", &mount.fstype) ||
        (json_object_get(object, "aname") &&
         !wire_get_string(object, "aname", &mount.aname)) ||
        (json_object_get(object, "read_only") &&
         !wire_get_bool(object, "read_only", &mount.read_only))) {
        dispatch_error(dispatch, object,
                       "mount needs a tag, a path, a fstype, and aname as a "
                       "string and read_only as true or false, if at all");
        return;
    }
    if (!shares_mount(dispatch->shares, &mount, error, sizeof(error)))
        send_mounted(dispatch, mount.tag, error);
}

/* status: the answer to an "unmount"; NULL: the share was lost. */
static void send_unmounted(struct dispatch *dispatch, const char *tag,
                           const char *status, const char *text)
{
    json_t *message = json_pack("{s:s, s:s}", "type", WIRE_UNMOUNTED, "tag",
                                tag);

    if (status)
        json_object_set_new(message, "status", json_string(status));
    if (text)
        json_object_set_new(message, "message", wire_text(text));
    port_send(dispatch->port, message);
}

static void handle_unmount(struct dispatch *dispatch,
                           const struct dispatch_message *message)
{
    json_t *object = message->object;
    bool force = false;
    const char *tag;
    char error[512];

    if (!wire_get_string(object, "tag", &tag) || strlen(tag) > SHARES_MAX_TAG ||
        (json_object_get(object, "force") &&
         !wire_get_bool(object, "force", &force)))
        dispatch_error(dispatch, object,
                       "unmount needs a tag, and force as true or false, if "
                       "at all");
    else if (!shares_unmount(dispatch->shares, tag, force, error,
                             sizeof(error)))
        send_unmounted(dispatch, tag, WIRE_STATUS_ERROR, error);
}

/* Each "refresh" has an answer: the host sends the next one after it. */
static void send_refreshed(struct dispatch *dispatch, const char *tag,
                           int64_t id, const char *error)
{
    json_t *answer = json_pack("{s:s, s:s, s:I, s:s}", "type", WIRE_REFRESHED,
                               "tag", tag, "id", (json_int_t)id, "status",
                               error ? WIRE_STATUS_ERROR : WIRE_STATUS_OK);

    if (error)
        json_object_set_new(answer, "message", wire_text(error));
    port_send(dispatch->port, answer);
}

static void handle_refresh(struct dispatch *dispatch,
                           const struct dispatch_message *message)
{
    json_t *object = message->object;
    bool unused = false;
    const char *tag;
    int64_t id;
    char error[512];

    if (!wire_get_string(object, "tag", &tag) || strlen(tag) > SHARES_MAX_TAG ||
        !wire_get_integer(object, "id", &id)) {
        dispatch_error(dispatch, object, "refresh needs a tag and an id");
        return;
    }
    wire_get_bool(object, "unused", &unused);
    if (!shares_refresh(dispatch->shares, tag, id, unused,
                        json_object_get(object, "names"), error, sizeof(error)))
        send_refreshed(dispatch, tag, id, error);
}

void dispatch_share_news(struct dispatch *dispatch, int fd)
{
    struct share share;
    char text[512];

    switch (
        shares_take_news(dispatch->shares, fd, &share, text, sizeof(text))) {
    case SHARES_NONE:
        break;
    case SHARES_MOUNTED:
        guest_mounts_add(dispatch->mounts, share.path);
        send_mounted(dispatch, share.tag, NULL);
        break;
    case SHARES_REFUSED:
        send_mounted(dispatch, share.tag, text);
        break;
    case SHARES_UNMOUNTED:
        send_unmounted(dispatch, share.tag, NULL, text);
        break;
    case SHARES_LEFT:
        guest_mounts_remove(dispatch->mounts, share.path);
        send_unmounted(dispatch, share.tag, WIRE_STATUS_OK, NULL);
        break;
    case SHARES_KEPT:
        send_unmounted(dispatch, share.tag, WIRE_STATUS_ERROR, text);
        break;
    case SHARES_REFRESHED:
        send_refreshed(dispatch, share.tag, share.refresh_id, NULL);
        break;
    case SHARES_STALE:
        send_refreshed(dispatch, share.tag, share.refresh_id, text);
        break;
    }
}

/* error: NULL on success. */
static void send_outcome(struct dispatch *dispatch, const char *type,
                         const char *error)
{
    json_t *answer = json_pack("{s:s, s:s}", "type", type, "status",
                               error ? WIRE_STATUS_ERROR : WIRE_STATUS_OK);

    if (error)
        json_object_set_new(answer, "message", wire_text(error));
    port_send(dispatch->port, answer);
}

static void handle_setup(struct dispatch *dispatch,
                         const struct dispatch_message *message)
{
    json_t *object = message->object;
    struct setup setup = { 0 };
    char error[256];
    bool ok;

    wire_get_string(object, "certificates", &setup.certificates);
    wire_get_string(object, "git_name", &setup.git_name);
    wire_get_string(object, "git_email", &setup.git_email);
    ok = setup_apply(&setup, error, sizeof(error));
    send_outcome(dispatch, WIRE_SET_UP, ok ? NULL : error);
}

static void apply_renewal(struct dispatch *dispatch,
                          const struct renewal *renewal)
{
    char error[256];
    bool changed, ok = renew_apply(renewal, &changed, error, sizeof(error));

    dispatch->clock_is_set = true;
    if (changed)
        dispatch->root_changed();
    send_outcome(dispatch, WIRE_RENEWED, ok ? NULL : error);
}

static void handle_renew(struct dispatch *dispatch,
                         const struct dispatch_message *message)
{
    json_t *object = message->object;
    json_t *entropy = wire_decode(json_object_get(object, "entropy"));
    json_t *network = json_object_get(object, "network");
    struct renewal renewal = { 0 };
    bool ok;

    ok = json_string_length(entropy) == WIRE_ENTROPY &&
         wire_get_string(object, "machine_id", &renewal.machine_id) &&
         wire_get_integer(object, "time_us", &renewal.time_us) &&
         (!network || (wire_get_string(network, "mac", &renewal.mac) &&
                       wire_get_string(network, "address", &renewal.address) &&
                       wire_get_string(network, "netmask", &renewal.netmask) &&
                       wire_get_string(network, "gateway", &renewal.gateway) &&
                       wire_get_string(network, "dns", &renewal.dns)));
    renewal.entropy = json_string_value(entropy);
    if (!dispatch->is_init)
        dispatch_error(dispatch, object, "the shim is not init");
    else if (!ok)
        dispatch_error(dispatch, object,
                       "renew needs entropy, a machine_id and time_us, and all "
                       "of the network, if any");
    else
        apply_renewal(dispatch, &renewal);
    json_decref(entropy);
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

    inet_ntop(listener->v6 ? AF_INET6 : AF_INET, listener->address, address,
              sizeof(address));
    port_send(dispatch->port,
              json_pack("{s:s, s:i, s:s, s:s, s:i}", "type", WIRE_PORT, "port",
                        (int)listener->port, "protocol", WIRE_TCP, "address",
                        address, "open", (int)open));
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

    if (!wire_get_string(message->object, "mark", &mark) ||
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
    if (!dispatch->bulk->ended || !port_can_answer(dispatch->port))
        return;
    dispatch->bulk->ended = false;
    port_send(dispatch->port, json_pack("{s:s}", "type", WIRE_BULK_ENDED));
}

static void handle_step_answer(struct dispatch *dispatch,
                               const struct dispatch_message *message)
{
    step_server_answer(dispatch->steps, message->object);
}

static void handle_find_processes(struct dispatch *dispatch,
                                  const struct dispatch_message *message)
{
    json_t *pids = json_object_get(message->object, "pids"), *pid;
    char text[WIRE_FIND_MAX * sizeof(" -9223372036854775808")] = "";
    int64_t request = 0;
    size_t len = 0, i;

    wire_get_integer(message->object, "request", &request);
    json_array_foreach(pids, i, pid)
    {
        int64_t number = json_integer_value(pid);
        int64_t id = number > 0 && number <= INT32_MAX
                         ? forks_find(dispatch->forks, (pid_t)number,
                                      message->now_ms)
                         : 0;

        if (i == WIRE_FIND_MAX)
            break;
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%" PRId64,
                                i ? " " : "", id);
    }
    port_send(dispatch->port,
              json_pack("{s:s, s:I, s:s}", "type", WIRE_PROCESSES, "request",
                        (json_int_t)request, "executions", text));
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
    { WIRE_MOUNT, handle_mount },
    { WIRE_UNMOUNT, handle_unmount },
    { WIRE_REFRESH, handle_refresh },
    { WIRE_SETUP, handle_setup },
    { WIRE_RENEW, handle_renew },
    { WIRE_WATCH_PORTS, handle_watch_ports },
    { WIRE_STEP_ANSWER, handle_step_answer },
    { WIRE_FIND_PROCESSES, handle_find_processes },
    { WIRE_BULK_START, handle_bulk_start },
    { WIRE_SHUTDOWN, handle_shutdown },
};

static void handle_message(struct dispatch *dispatch,
                           const struct dispatch_message *message)
{
    const char *type;

    if (!wire_get_string(message->object, "type", &type)) {
        dispatch_error(dispatch, message->object, "the message has no type");
        return;
    }
    for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
        if (strcmp(handlers[i].type, type) == 0) {
            handlers[i].handle(dispatch, message);
            return;
        }
    }
    dispatch_error(dispatch, message->object, "unknown message type");
}

static void handle_line(struct dispatch *dispatch, const char *line, size_t len,
                        int64_t now_ms)
{
    json_error_t error;
    struct dispatch_message message = {
        .object = wire_parse(line, len, &error),
        .now_ms = now_ms,
    };

    if (message.object)
        handle_message(dispatch, &message);
    else
        dispatch_error(dispatch, NULL, "malformed line at byte %d: %s",
                       error.position, error.text);
    json_decref(message.object);
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
