/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_channel - see guest_channel.h: the channel, and messages from the
 * guest. guest_channel_send.c has those to it.
 */
#include "agent/machine/guest_channel.h"

#include <string.h>

#include "agent/machine/guest_channel_parts.h"
#include "common/errors.h"
#include "common/json_bytes.h"
#include "common/jsonl.h"
#include "common/log.h"
#include "common/message.h"
#include "shim/wire.h"

/* Limits on what a hostile guest can make the host log and queue. */
enum { MAX_COMPLAINTS = 50, MAX_QUEUE = 16 << 20 };

void guest_channel_complain(struct guest_channel *channel, const char *format,
                            ...)
{
    g_autofree char *text = NULL;
    va_list args;

    if (++channel->complaints > MAX_COMPLAINTS)
        return;
    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    log_warn(LOG_CONTROL, "message from the guest ignored: %s%s", text,
             channel->complaints == MAX_COMPLAINTS
                 ? " (further messages are not logged)"
                 : "");
}

guint64 guest_channel_complaints(const struct guest_channel *channel)
{
    return channel->complaints;
}

static gboolean take_hello(struct guest_channel *channel, json_t *message,
                           GError **error)
{
    struct guest_abilities *abilities = &channel->abilities;
    struct guest_hello hello = { .shim_version = "", .kernel = "" };
    gint64 plugs_folders = 0;
    const struct {
        const char *name;
        gint64 min, max, *value;
    } numbers[] = {
        { "takes_input", 0, 1, &abilities->takes_input },
        { "takes_bytes", 0, 1, &abilities->takes_bytes },
        { "executions", 1, G_MAXINT32, &abilities->executions },
        { "reports_ports", 0, 1, &abilities->reports_ports },
        { "steps", 0, 1, &abilities->steps },
        { "finds_processes", 0, 1, &abilities->finds_processes },
        { "setup", 0, 1, &abilities->setup },
        { "renews", 0, 1, &abilities->renews },
        { "refreshes", 0, 1, &abilities->refreshes },
        { "plugs_folders", 0, 1, &plugs_folders },
        { "init_ms", 0, G_MAXINT32, &hello.init_ms },
        { "shim_ms", 0, G_MAXINT32, &hello.shim_ms },
        { "uptime_ms", 0, G_MAXINT32, &hello.uptime_ms },
    };

    if (!message_get_int(message, "version", 0, G_MAXINT32, &hello.version,
                         error) ||
        !message_get_optional_string(message, "shim_version",
                                     &hello.shim_version, error) ||
        !message_get_optional_string(message, "kernel", &hello.kernel, error))
        return FALSE;
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        if (!message_get_optional_int(message, numbers[i].name, numbers[i].min,
                                      numbers[i].max, numbers[i].value, error))
            return FALSE;
    }
    hello.plugs_folders = plugs_folders != 0;
    hello.renews = abilities->renews != 0;
    channel->callbacks->hello(&hello, channel->opaque);
    return TRUE;
}

/* Get the reason of a failure: NULL if the status is "ok". */
static gboolean get_outcome(json_t *message, const char **ret_text,
                            GError **error)
{
    const char *status;

    *ret_text = "the guest gave no reason";
    if (!message_get_string(message, "status", &status, error) ||
        !message_get_optional_string(message, "message", ret_text, error))
        return FALSE;
    if (strcmp(status, WIRE_STATUS_OK) == 0)
        *ret_text = NULL;
    return TRUE;
}

static gboolean take_mounted(struct guest_channel *channel, json_t *message,
                             GError **error)
{
    const char *tag, *text;

    if (!message_get_string(message, "tag", &tag, error) ||
        !get_outcome(message, &text, error))
        return FALSE;
    channel->callbacks->mounted(tag, text, channel->opaque);
    return TRUE;
}

static gboolean take_unmounted(struct guest_channel *channel, json_t *message,
                               GError **error)
{
    const char *tag, *text = "the guest gave no reason";

    if (!message_get_string(message, "tag", &tag, error))
        return FALSE;
    if (json_object_get(message, "status")) {
        if (!get_outcome(message, &text, error))
            return FALSE;
        channel->callbacks->left(tag, text, channel->opaque);
        return TRUE;
    }
    if (!message_get_optional_string(message, "message", &text, error))
        return FALSE;
    channel->callbacks->unmounted(tag, text, channel->opaque);
    return TRUE;
}

static gboolean take_set_up(struct guest_channel *channel, json_t *message,
                            GError **error)
{
    const char *text;

    if (!get_outcome(message, &text, error))
        return FALSE;
    channel->callbacks->set_up(text, channel->opaque);
    return TRUE;
}

static gboolean take_renewed(struct guest_channel *channel, json_t *message,
                             GError **error)
{
    const char *text;

    if (!get_outcome(message, &text, error))
        return FALSE;
    channel->callbacks->renewed(text, channel->opaque);
    return TRUE;
}

static gboolean take_refreshed(struct guest_channel *channel, json_t *message,
                               GError **error)
{
    const char *tag, *text;
    gint64 id;

    if (!message_get_string(message, "tag", &tag, error) ||
        !message_get_int(message, "id", 1, G_MAXINT64, &id, error) ||
        !get_outcome(message, &text, error))
        return FALSE;
    channel->callbacks->refreshed(tag, id, text, channel->opaque);
    return TRUE;
}

static gboolean take_output(struct guest_channel *channel, json_t *message,
                            GError **error)
{
    g_autofree char *data = NULL;
    struct command_output output = { 0 };
    const char *stream;

    if (!message_get_int(message, "id", 1, G_MAXINT64, &output.exec_id,
                         error) ||
        !message_get_string(message, "stream", &stream, error))
        return FALSE;
    output.data = data = json_bytes_get(message, "data", &output.len);
    output.is_stderr = strcmp(stream, WIRE_STDERR) == 0;
    if (!data || (!output.is_stderr && strcmp(stream, WIRE_STDOUT) != 0)) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "output without a stream or data");
        return FALSE;
    }
    channel->callbacks->output(&output, channel->opaque);
    return TRUE;
}

static gboolean take_completed(struct guest_channel *channel, json_t *message,
                               GError **error)
{
    gint64 id, exit_code, number = 0, processes = 1, kills = 0;
    struct command_end end;

    if (!message_get_int(message, "id", 1, G_MAXINT64, &id, error) ||
        !message_get_int(message, "exit_code", 0, 255, &exit_code, error) ||
        !message_get_optional_int(message, "signal", 0, 127, &number, error) ||
        !message_get_optional_int(message, "processes", 0, 1, &processes,
                                  error) ||
        !message_get_optional_int(message, "oom_kills", 0, G_MAXINT, &kills,
                                  error))
        return FALSE;
    end = (struct command_end){ (int)exit_code, (int)number, processes != 0,
                                (int)kills };
    channel->callbacks->completed(id, &end, channel->opaque);
    return TRUE;
}

static gboolean take_input_taken(struct guest_channel *channel, json_t *message,
                                 GError **error)
{
    gint64 id, bytes;

    if (!message_get_int(message, "id", 1, G_MAXINT64, &id, error) ||
        !message_get_int(message, "bytes", 1, WIRE_INPUT_WINDOW, &bytes, error))
        return FALSE;
    channel->callbacks->input_taken(id, (size_t)bytes, channel->opaque);
    return TRUE;
}

static const char *const step_ops[] = {
    [GUEST_STEP_BEGIN] = WIRE_STEP_BEGIN,
    [GUEST_STEP_END] = WIRE_STEP_END,
    [GUEST_STEP_WITHDRAW] = WIRE_STEP_WITHDRAW,
    [GUEST_STEP_LIST] = WIRE_STEP_LIST,
    [GUEST_STEP_DIFF] = WIRE_STEP_DIFF,
    [GUEST_STEP_UNDO] = WIRE_STEP_UNDO,
    [GUEST_STEP_GRANT] = WIRE_STEP_GRANT,
};

static gboolean refuse_step(GError **error, const char *what)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                "step request with an invalid %s", what);
    return FALSE;
}

static gboolean take_step_request(struct guest_channel *channel,
                                  json_t *message, GError **error)
{
    struct guest_step_request request = { .scope = "" };
    g_autofree char *text = NULL;
    const char *op;
    gint64 exit_code = -1, processes = 1, write = 0;
    size_t i = 0, len = 0;

    if (!message_get_int(message, "request", 1, G_MAXINT64, &request.request,
                         error) ||
        !message_get_int(message, "id", 1, G_MAXINT64, &request.exec_id,
                         error) ||
        !message_get_string(message, "op", &op, error) ||
        !message_get_optional_string(message, "scope", &request.scope, error) ||
        !message_get_optional_int(message, "number", 0, G_MAXINT64,
                                  &request.number, error) ||
        !message_get_optional_int(message, "exit_code", 0, 255, &exit_code,
                                  error) ||
        !message_get_optional_int(message, "write", 0, 1, &write, error) ||
        !message_get_optional_string(message, "reason", &request.reason,
                                     error) ||
        !message_get_optional_int(message, "processes", 0, 1, &processes,
                                  error))
        return FALSE;
    while (i < G_N_ELEMENTS(step_ops) && strcmp(op, step_ops[i]) != 0)
        i++;
    if (i == G_N_ELEMENTS(step_ops))
        return refuse_step(error, "op");
    if (strlen(request.scope) > WIRE_STEP_SCOPE)
        return refuse_step(error, "scope");
    if (json_object_get(message, "text"))
        text = json_bytes_get(message, "text", &len);
    if (len > WIRE_STEP_COMMAND || (text && strlen(text) != len) ||
        ((i == GUEST_STEP_BEGIN || i == GUEST_STEP_GRANT) && !text))
        return refuse_step(error, "text");
    if (request.reason && strlen(request.reason) > WIRE_STEP_REASON)
        return refuse_step(error, "reason");
    request.op = (enum guest_step_op)i;
    request.text = text ? text : "";
    request.wants_write = write != 0;
    request.exit_code = (int)exit_code;
    request.has_processes = processes != 0;
    channel->callbacks->step_request(&request, channel->opaque);
    return TRUE;
}

static gboolean take_processes(struct guest_channel *channel, json_t *message,
                               GError **error)
{
    struct guest_processes processes;

    if (!guest_processes_parse(message, &processes, error))
        return FALSE;
    channel->callbacks->processes(&processes, channel->opaque);
    return TRUE;
}

static gboolean take_error(struct guest_channel *channel, json_t *message,
                           GError **error)
{
    const char *text = "the guest gave no reason";
    gint64 id = 0;

    if (!message_get_optional_int(message, "id", 1, G_MAXINT64, &id, error) ||
        !message_get_optional_string(message, "message", &text, error))
        return FALSE;
    if (id)
        channel->callbacks->refused(id, text, channel->opaque);
    else
        guest_channel_complain(channel, "error: %s", text);
    return TRUE;
}

static gboolean take_port(struct guest_channel *channel, json_t *message,
                          GError **error)
{
    struct guest_port_news news;

    if (!guest_ports_parse(message, &news, error))
        return FALSE;
    channel->callbacks->port(&news, channel->opaque);
    return TRUE;
}

static gboolean take_bulk_ended(struct guest_channel *channel, json_t *message,
                                GError **error)
{
    channel->callbacks->bulk_ended(channel->opaque);
    return TRUE;
}

/* A message that needs no action. */
static gboolean take_note(struct guest_channel *channel, json_t *message,
                          GError **error)
{
    return TRUE;
}

static const struct {
    const char *type;
    gboolean (*take)(struct guest_channel *channel, json_t *message,
                     GError **error);
} messages[] = {
    { WIRE_OUTPUT, take_output },
    { WIRE_INPUT_TAKEN, take_input_taken },
    { WIRE_STEP_STARTED, take_note },
    { WIRE_STEP_COMPLETED, take_completed },
    { WIRE_HELLO, take_hello },
    { WIRE_MOUNTED, take_mounted },
    { WIRE_UNMOUNTED, take_unmounted },
    { WIRE_SET_UP, take_set_up },
    { WIRE_RENEWED, take_renewed },
    { WIRE_REFRESHED, take_refreshed },
    { WIRE_PORT, take_port },
    { WIRE_ERROR, take_error },
    { WIRE_STEP_REQUEST, take_step_request },
    { WIRE_PROCESSES, take_processes },
    { WIRE_BULK_ENDED, take_bulk_ended },
};

static void on_line(struct jsonl_channel *jsonl, enum jsonl_status status,
                    json_t *message, const char *text, void *opaque)
{
    struct guest_channel *channel = opaque;
    g_autoptr(GError) error = NULL;
    const char *type;

    if (status != JSONL_OK) {
        guest_channel_complain(channel, "%s", text);
        return;
    }
    type = json_string_value(json_object_get(message, "type"));
    for (size_t i = 0; type && i < G_N_ELEMENTS(messages); i++) {
        if (strcmp(type, messages[i].type) != 0)
            continue;
        /* A callback that freed the channel has returned TRUE. */
        if (!messages[i].take(channel, message, &error))
            guest_channel_complain(channel, "%s", error->message);
        return;
    }
    guest_channel_complain(channel, "unknown type '%.40s'", type ? type : "");
}

static void on_closed(struct jsonl_channel *jsonl, void *opaque)
{
    struct guest_channel *channel = opaque;

    channel->callbacks->closed(channel->opaque);
}

static const struct jsonl_callbacks callbacks = {
    .line = on_line,
    .closed = on_closed,
};

struct guest_channel *
guest_channel_new(int fd, const struct guest_channel_callbacks *cbs,
                  void *opaque)
{
    struct guest_channel *channel = g_new0(struct guest_channel, 1);

    channel->callbacks = cbs;
    channel->opaque = opaque;
    channel->channel = jsonl_channel_new(fd, fd, WIRE_MAX_LINE, MAX_QUEUE,
                                         &callbacks, channel);
    return channel;
}

void guest_channel_free(struct guest_channel *channel)
{
    if (!channel)
        return;
    jsonl_channel_free(channel->channel);
    g_free(channel);
}
