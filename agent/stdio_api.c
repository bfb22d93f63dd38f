/* SPDX-License-Identifier: Apache-2.0
 *
 * stdio_api - see stdio_api.h.
 *
 * A request is a line; "struct request" is what remains of it until its
 * response is sent. Their number is bounded, so the queue of responses is too.
 */
#include <config.h>

#include "agent/stdio_api.h"

#include <string.h>

#include "agent/fs_view.h"
#include "agent/session.h"
#include "common/errors.h"
#include "common/jsonl.h"
#include "common/log.h"
#include "common/message.h"

enum {
    MAX_LINE = 16 << 20,
    MAX_QUEUE = 4 << 20,
    MAX_REQUESTS = 128, /* that wait for their response */
    FLUSH_MS = 1000,
    STOP_RETRY_MS = 50,
    LIST_DEFAULT = 1000,
    LIST_MAX = 100000,
    HISTORY_DEFAULT = 50,
    HISTORY_MAX = 1000,
    ROLLBACK_MAX = 1000000,
    TIMEOUT_MAX_S = 7 * 24 * 3600,
    REQUEST_ID_MAX = 256,
};

struct stdio_api {
    struct jsonl_channel *channel;
    struct session *session;
    const struct stdio_api_callbacks *callbacks;
    void *opaque;
    unsigned requests;
    guint stop_source;
};

struct request {
    struct stdio_api *api;
    char *id;
};

/* ---- responses ----------------------------------------------------------- */

static void send_error(struct stdio_api *api, const char *id,
                       const GError *error, json_t *data)
{
    log_emit(LOG_LEVEL_INFO, LOG_STDIO_API,
             json_pack("{s:s?}", "request_id", id), "refused: %s",
             error->message);
    jsonl_channel_send(api->channel,
                       message_error(id, (enum error_code)error_code_of(error),
                                     error->message,
                                     data ? json_incref(data) : NULL),
                       false);
}

static void send_refusal(struct stdio_api *api, const char *id,
                         enum error_code code, const char *text)
{
    g_autoptr(GError) error = g_error_new_literal(STEPBACK_ERROR, code, text);

    send_error(api, id, error, NULL);
}

/* A reply_done. */
static void respond(json_t *payload, const GError *error, json_t *data,
                    void *opaque)
{
    struct request *request = opaque;
    struct stdio_api *api = request->api;

    if (error)
        send_error(api, request->id, error, data);
    else
        jsonl_channel_send(
            api->channel,
            message_response(request->id,
                             payload ? json_incref(payload) : NULL),
            false);
    api->requests--;
    g_free(request->id);
    g_free(request);
}

/* payload is taken. */
static void respond_new(struct request *request, json_t *payload)
{
    respond(payload, NULL, NULL, request);
    json_decref(payload);
}

/* ---- operations ------------------------------------------------------------
 * *
 *
 * Each answers its request now or later and returns TRUE; or it returns FALSE
 * and error, and the request is answered with that. */

static gboolean handle_hello(struct request *request, json_t *payload,
                             GError **error);

static gboolean handle_start(struct request *request, json_t *payload,
                             GError **error)
{
    struct session_config *config = session_config_parse(payload, error);

    if (!config)
        return FALSE;
    session_start(request->api->session, config, respond, request);
    return TRUE;
}

static gboolean handle_stop(struct request *request, json_t *payload,
                            GError **error)
{
    session_stop(request->api->session, respond, request);
    return TRUE;
}

static gboolean handle_status(struct request *request, json_t *payload,
                              GError **error)
{
    respond_new(request, session_status(request->api->session));
    return TRUE;
}

static gboolean get_env(json_t *payload, json_t **ret_env, GError **error)
{
    json_t *env = json_object_get(payload, "env");
    const char *key;
    json_t *value;
    bool ok = !env || json_is_object(env);

    json_object_foreach(env, key, value)
    {
        ok = ok && *key && !strchr(key, '=') && json_is_string(value);
    }
    if (!ok) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "the field 'env' must be an object whose members "
                            "are strings");
        return FALSE;
    }
    *ret_env = env;
    return TRUE;
}

static gboolean handle_execute(struct request *request, json_t *payload,
                               GError **error)
{
    struct session_command command = { 0 };
    gint64 timeout = 0;

    if (!message_get_string(payload, "command", &command.command, error) ||
        !message_get_optional_string(payload, "cwd", &command.cwd, error) ||
        !message_get_optional_int(payload, "timeout_seconds", 1, TIMEOUT_MAX_S,
                                  &timeout, error) ||
        !get_env(payload, &command.env, error))
        return FALSE;
    command.timeout_seconds = (unsigned)timeout;
    session_execute(request->api->session, &command, respond, request);
    return TRUE;
}

static gboolean handle_cancel(struct request *request, json_t *payload,
                              GError **error)
{
    bool cancelled = session_cancel(request->api->session);

    respond_new(request, json_pack("{s:b}", "cancelled", cancelled));
    return TRUE;
}

static gboolean handle_rollback(struct request *request, json_t *payload,
                                GError **error)
{
    gboolean force = FALSE;
    gint64 steps = 1;

    if (!message_get_optional_int(payload, "steps", 1, ROLLBACK_MAX, &steps,
                                  error) ||
        !message_get_optional_bool(payload, "force", &force, error))
        return FALSE;
    session_rollback(request->api->session, (unsigned)steps, force, respond,
                     request);
    return TRUE;
}

static gboolean handle_history(struct request *request, json_t *payload,
                               GError **error)
{
    gint64 limit = HISTORY_DEFAULT;

    if (!message_get_optional_int(payload, "limit", 1, HISTORY_MAX, &limit,
                                  error))
        return FALSE;
    session_history(request->api->session, (unsigned)limit, respond, request);
    return TRUE;
}

static gboolean handle_list(struct request *request, json_t *payload,
                            GError **error)
{
    gint64 limit = LIST_DEFAULT;
    const char *path = "";
    json_t *result;
    int fd;

    if (!message_get_optional_string(payload, "path", &path, error) ||
        !message_get_optional_int(payload, "limit", 1, LIST_MAX, &limit, error))
        return FALSE;
    fd = session_folder_fd(request->api->session, error);
    result = fd < 0 ? NULL : fs_view_list(fd, path, (unsigned)limit, error);
    if (result)
        respond_new(request, result);
    return result != NULL;
}

static gboolean handle_read(struct request *request, json_t *payload,
                            GError **error)
{
    gint64 offset = 0, length = -1;
    const char *path;
    json_t *result;
    int fd;

    if (!message_get_string(payload, "path", &path, error) ||
        !message_get_optional_int(payload, "offset", 0, G_MAXINT64 / 2, &offset,
                                  error) ||
        !message_get_optional_int(payload, "length", 0, G_MAXINT64 / 2, &length,
                                  error))
        return FALSE;
    fd = session_folder_fd(request->api->session, error);
    result = fd < 0 ? NULL : fs_view_read(fd, path, offset, length, error);
    if (result)
        respond_new(request, result);
    return result != NULL;
}

static const struct {
    const char *type;
    gboolean (*handle)(struct request *request, json_t *payload,
                       GError **error);
} operations[] = {
    { "protocol.hello", handle_hello },   { "session.start", handle_start },
    { "session.stop", handle_stop },      { "session.status", handle_status },
    { "agent.execute", handle_execute },  { "agent.cancel", handle_cancel },
    { "undo.rollback", handle_rollback }, { "undo.history", handle_history },
    { "fs.list", handle_list },           { "fs.read", handle_read },
};

static gboolean handle_hello(struct request *request, json_t *payload,
                             GError **error)
{
    json_t *names;
    gint64 version;

    if (!message_get_int(payload, "protocol_version", 0, G_MAXINT32, &version,
                         error))
        return FALSE;
    if (version != STDIO_API_PROTOCOL_VERSION) {
        g_set_error(error, STEPBACK_ERROR, ERROR_UNSUPPORTED_PROTOCOL_VERSION,
                    "protocol version %d is spoken here, not %" G_GINT64_FORMAT,
                    STDIO_API_PROTOCOL_VERSION, version);
        return FALSE;
    }
    names = json_array();
    for (size_t i = 0; i < G_N_ELEMENTS(operations); i++)
        json_array_append_new(names, json_string(operations[i].type));
    respond_new(request, json_pack("{s:i, s:s, s:o}", "protocol_version",
                                   STDIO_API_PROTOCOL_VERSION, "agent_version",
                                   PACKAGE_VERSION, "operations", names));
    return TRUE;
}

/* ---- requests ------------------------------------------------------------ */

static void refuse_unknown(struct stdio_api *api, const char *id,
                           const char *type)
{
    g_autoptr(GString) text = g_string_new(NULL);

    g_string_printf(text, "unknown operation '%.100s'; known are", type);
    for (size_t i = 0; i < G_N_ELEMENTS(operations); i++)
        g_string_append_printf(text, "%s %s", i ? "," : "", operations[i].type);
    send_refusal(api, id, ERROR_UNKNOWN_OPERATION, text->str);
}

static void dispatch(struct stdio_api *api, const char *id, const char *type,
                     json_t *payload)
{
    g_autoptr(GError) error = NULL;
    struct request *request;
    size_t i = 0;

    while (i < G_N_ELEMENTS(operations) &&
           strcmp(type, operations[i].type) != 0)
        i++;
    if (i == G_N_ELEMENTS(operations)) {
        refuse_unknown(api, id, type);
        return;
    }
    if (api->requests >= MAX_REQUESTS) {
        send_refusal(api, id, ERROR_BUSY, "too many requests wait already");
        return;
    }
    log_emit(LOG_LEVEL_DEBUG, LOG_STDIO_API,
             json_pack("{s:s}", "request_id", id), "request %s", type);
    request = g_new0(struct request, 1);
    request->api = api;
    request->id = g_strdup(id);
    api->requests++;
    if (!operations[i].handle(request, payload, &error))
        respond(NULL, error, NULL, request);
}

static void on_request(struct stdio_api *api, json_t *message)
{
    json_t *payload = json_object_get(message, "payload");
    const char *id = NULL, *type;
    g_autoptr(GError) error = NULL;

    if (!message_get_string(message, "request_id", &id, &error) ||
        !message_get_string(message, "type", &type, &error)) {
        send_error(api, id, error, NULL);
    } else if (strlen(id) > REQUEST_ID_MAX) {
        send_refusal(api, NULL, ERROR_INVALID_FIELD,
                     "the field 'request_id' must be at most 256 bytes long");
    } else if (payload && !json_is_object(payload)) {
        send_refusal(api, id, ERROR_INVALID_FIELD,
                     "the field 'payload' must be an object");
    } else {
        dispatch(api, id, type, payload);
    }
}

static void on_line(struct jsonl_channel *channel, enum jsonl_status status,
                    json_t *message, const char *error, void *opaque)
{
    struct stdio_api *api = opaque;

    if (status == JSONL_OK)
        on_request(api, message);
    else if (status == JSONL_TOO_LONG)
        send_refusal(api, NULL, ERROR_MESSAGE_TOO_LARGE, error);
    else
        send_refusal(api, NULL, ERROR_MALFORMED_JSON, error);
}

static void on_closed(struct jsonl_channel *channel, void *opaque)
{
    struct stdio_api *api = opaque;

    api->callbacks->closed(api->opaque);
}

static const struct jsonl_callbacks channel_callbacks = {
    .line = on_line,
    .closed = on_closed,
};

static bool on_event(const char *type, json_t *payload, bool droppable,
                     void *opaque)
{
    struct stdio_api *api = opaque;

    return jsonl_channel_send(api->channel, message_event(type, payload),
                              droppable);
}

static const struct session_callbacks session_callbacks = {
    .event = on_event,
};

/* ---- life ---------------------------------------------------------------- */

struct stdio_api *stdio_api_new(int in_fd, int out_fd, const char *log_level,
                                const struct stdio_api_callbacks *callbacks,
                                void *opaque)
{
    struct stdio_api *api = g_new0(struct stdio_api, 1);

    api->callbacks = callbacks;
    api->opaque = opaque;
    api->channel = jsonl_channel_new(in_fd, out_fd, MAX_LINE, MAX_QUEUE,
                                     &channel_callbacks, api);
    api->session = session_new(log_level, &session_callbacks, api);
    jsonl_channel_send(
        api->channel,
        message_event("event.ready",
                      json_pack("{s:i, s:s}", "protocol_version",
                                STDIO_API_PROTOCOL_VERSION, "agent_version",
                                PACKAGE_VERSION)),
        false);
    return api;
}

void stdio_api_free(struct stdio_api *api)
{
    if (!api)
        return;
    g_clear_handle_id(&api->stop_source, g_source_remove);
    session_free(api->session);
    jsonl_channel_flush(api->channel, FLUSH_MS);
    jsonl_channel_free(api->channel);
    g_free(api);
}

static gboolean try_stop(gpointer data)
{
    struct stdio_api *api = data;

    api->stop_source = 0;
    stdio_api_stop(api);
    return G_SOURCE_REMOVE;
}

static void on_stopped(json_t *payload, const GError *error, json_t *data,
                       void *opaque)
{
    struct stdio_api *api = opaque;

    /* Busy: the frontend has asked the same just before. */
    if (error && error_code_of(error) == ERROR_BUSY)
        api->stop_source = g_timeout_add(STOP_RETRY_MS, try_stop, api);
    else
        api->callbacks->stopped(api->opaque);
}

void stdio_api_stop(struct stdio_api *api)
{
    session_stop(api->session, on_stopped, api);
}

void stdio_api_kill(struct stdio_api *api)
{
    session_kill(api->session);
}
