/* SPDX-License-Identifier: Apache-2.0
 *
 * stdio_api - see stdio_api.h.
 *
 * A request is one line; "struct request" is what remains of it until its
 * response is sent. The number of requests is limited, so the response queue is
 * too.
 */
#include <config.h>

#include "agent/stdio/stdio_api.h"

#include <string.h>

#include "agent/base/runtime_dir.h"
#include "agent/mcp/mcp_session.h"
#include "agent/mcp/mcp_socket.h"
#include "agent/session/session.h"
#include "agent/stdio/stdio_ops.h"
#include "agent/wire/event_json.h"
#include "agent/wire/status_json.h"
#include "common/errors.h"
#include "common/jsonl.h"
#include "common/log.h"
#include "common/message.h"

enum {
    MAX_LINE = 16 << 20,
    MAX_QUEUE = 4 << 20,
    MAX_REQUESTS = 128, /* requests that wait for their response */
    FLUSH_MS = 1000,
    STOP_RETRY_MS = 50,
    REQUEST_ID_MAX = 256,
};

struct stdio_api {
    struct jsonl_channel *channel;
    struct session *session;
    const struct stdio_api_callbacks *callbacks;
    void *opaque;
    unsigned requests;
    guint stop_source;

    struct mcp_session *mcp;
    struct runtime_dir *mcp_dir; /* or NULL */
    struct mcp_socket *mcp_socket;
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
    session_counters(api->session)->refused++;
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

/* Implements stdio_ops_done. */
static void respond(json_t *payload, const GError *error, json_t *data,
                    void *opaque)
{
    struct request *request = opaque;
    struct stdio_api *api = request->api;

    if (error) {
        send_error(api, request->id, error, data);
    } else {
        log_emit(LOG_LEVEL_INFO, LOG_STDIO_API,
                 json_pack("{s:s}", "request_id", request->id), "answered");
        jsonl_channel_send(
            api->channel,
            message_response(request->id,
                             payload ? json_incref(payload) : NULL),
            false);
    }
    api->requests--;
    g_free(request->id);
    g_free(request);
}

/* ---- requests ------------------------------------------------------------ */

static void dispatch(struct stdio_api *api, const char *id, const char *type,
                     json_t *payload)
{
    g_autoptr(GError) error = NULL;
    struct request *request;

    if (api->requests >= MAX_REQUESTS) {
        send_refusal(api, id, ERROR_BUSY,
                     "too many requests are waiting; wait for responses");
        return;
    }
    log_set_request(id);
    log_info(LOG_STDIO_API, "request %.100s", type);
    request = g_new0(struct request, 1);
    request->api = api;
    request->id = g_strdup(id);
    api->requests++;
    if (!stdio_ops_carry_out(api->session, type, payload, respond, request,
                             &error))
        respond(NULL, error, NULL, request);
    log_set_request(NULL);
}

/* Checked as in a payload (stdio_ops.c); the hello is exempt because a newer
 * frontend may add members. */
static gboolean check_members(json_t *message, const char *type, GError **error)
{
    static const char *const members[] = { "type", "request_id", "payload",
                                           NULL };

    return strcmp(type, "protocol.hello") == 0 ||
           message_check_known(message, members, error);
}

static void on_request(struct stdio_api *api, json_t *message)
{
    json_t *payload = json_object_get(message, "payload");
    const char *id = NULL, *type;
    g_autoptr(GError) error = NULL;

    session_counters(api->session)->requests++;
    if (!message_get_string(message, "request_id", &id, &error) ||
        !message_get_string(message, "type", &type, &error)) {
        send_error(api, id, error, NULL);
    } else if (strlen(id) > REQUEST_ID_MAX) {
        send_refusal(api, NULL, ERROR_INVALID_FIELD,
                     "the field 'request_id' must be at most 256 bytes long");
    } else if (payload && !json_is_object(payload)) {
        send_refusal(api, id, ERROR_INVALID_FIELD,
                     "the field 'payload' must be an object");
    } else if (!check_members(message, type, &error)) {
        send_error(api, id, error, NULL);
    } else {
        dispatch(api, id, type, payload);
    }
}

/* id: the line's id if it could be parsed, or NULL. */
static void on_not_taken(struct stdio_api *api, enum error_code code,
                         json_t *id, const char *text)
{
    bool fits = json_is_string(id) && json_string_length(id) <= REQUEST_ID_MAX;

    send_refusal(api, fits ? json_string_value(id) : NULL, code, text);
}

static void on_line(struct jsonl_channel *channel, enum jsonl_status status,
                    json_t *message, const char *error, void *opaque)
{
    struct stdio_api *api = opaque;

    if (status == JSONL_OK)
        on_request(api, message);
    else if (status == JSONL_TOO_LONG)
        on_not_taken(api, ERROR_MESSAGE_TOO_LARGE, message, error);
    else
        on_not_taken(api, ERROR_MALFORMED_JSON, message, error);
}

static void on_closed(struct jsonl_channel *channel, void *opaque)
{
    struct stdio_api *api = opaque;

    api->callbacks->closed(api->opaque);
}

static const struct jsonl_callbacks channel_callbacks = {
    .line = on_line,
    .closed = on_closed,
    .id_member = "request_id",
};

static bool on_event(const struct session_event *event, void *opaque)
{
    struct stdio_api *api = opaque;

    return jsonl_channel_send(api->channel, event_to_json(event),
                              event->droppable);
}

static const struct session_callbacks session_callbacks = {
    .event = on_event,
};

/* ---- life ---------------------------------------------------------------- */

/* Open the socket for MCP clients, which may run in any folder. Returns its
 * path as a new string, or NULL on failure, which does not keep the frontend
 * from being served. */
static char *listen_for_mcp(struct stdio_api *api, const char *given)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = given ? g_canonicalize_filename(given, NULL) : NULL;

    if (!path && (api->mcp_dir = runtime_dir_new(NULL, &error)))
        path = runtime_dir_path(api->mcp_dir, "mcp.sock");
    if (api->mcp_dir && runtime_dir_note(api->mcp_dir))
        log_warn(LOG_MCP, "%s", runtime_dir_note(api->mcp_dir));
    if (path && !g_utf8_validate(path, -1, NULL))
        g_set_error_literal(&error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "the path of the MCP socket is not UTF-8, so it "
                            "cannot be sent to clients");
    else if (path)
        api->mcp_socket = mcp_socket_new(mcp_session_server(api->mcp), path,
                                         &error);
    if (api->mcp_socket)
        return g_steal_pointer(&path);
    log_warn(LOG_MCP, "MCP clients are not served: %s", error->message);
    return NULL;
}

static void leave_mcp(struct stdio_api *api)
{
    g_clear_pointer(&api->mcp_socket, mcp_socket_free);
    g_clear_pointer(&api->mcp_dir, runtime_dir_free);
    mcp_session_close(api->mcp);
}

struct stdio_api *stdio_api_new(int in_fd, int out_fd, const char *log_level,
                                const char *mcp_socket,
                                const struct stdio_api_callbacks *callbacks,
                                void *opaque)
{
    struct stdio_api *api = g_new0(struct stdio_api, 1);
    g_autofree char *socket = NULL;

    api->callbacks = callbacks;
    api->opaque = opaque;
    api->channel = jsonl_channel_new(in_fd, out_fd, MAX_LINE, MAX_QUEUE,
                                     &channel_callbacks, api);
    api->session = session_new(log_level, &session_callbacks, api);
    api->mcp = mcp_session_new(api->session);
    socket = listen_for_mcp(api, mcp_socket);
    jsonl_channel_send(
        api->channel,
        message_event("event.ready",
                      json_pack("{s:i, s:s, s:s?}", "protocol_version",
                                STDIO_API_PROTOCOL_VERSION, "agent_version",
                                PACKAGE_VERSION, "mcp_socket", socket)),
        false);
    return api;
}

void stdio_api_free(struct stdio_api *api)
{
    if (!api)
        return;
    g_clear_handle_id(&api->stop_source, g_source_remove);
    leave_mcp(api);
    session_free(api->session);
    mcp_session_free(api->mcp);
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

static void on_stopped(const struct answer *answer, const GError *error,
                       void *opaque)
{
    struct stdio_api *api = opaque;

    /* Busy: the frontend has already requested the stop. */
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

void stdio_api_log_counters(struct stdio_api *api)
{
    struct session_status status;

    session_get_status(api->session, &status);
    log_emit(LOG_LEVEL_INFO, LOG_STDIO_API, counters_to_json(&status.counters),
             "counters");
}
