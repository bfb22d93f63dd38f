/* SPDX-License-Identifier: Apache-2.0
 *
 * api_client - see api_client.h.
 *
 * A request is one line; "struct request" is what remains of it until its
 * response is sent, and holds a reference to its client. The number of requests
 * is limited, so the response queue is too.
 */
#include "agent/stdio/api_client.h"

#include <string.h>

#include "agent/session/session_exec.h"
#include "agent/stdio/event_filter.h"
#include "agent/stdio/stdio_ops.h"
#include "agent/wire/event_json.h"
#include "agent/wire/exec_json.h"
#include "common/errors.h"
#include "common/jsonl.h"
#include "common/log.h"
#include "common/message.h"

enum {
    MAX_LINE = 16 << 20,
    MAX_QUEUE = 4 << 20,
    MAX_REQUESTS = 128, /* requests that wait for their response */
    REQUEST_ID_MAX = 256,
};

struct api_client {
    int refs;
    bool gone; /* freed by its owner; only requests refer to it */
    struct jsonl_channel *channel;
    struct session *session;
    const struct api_client_callbacks *callbacks;
    void *opaque;
    unsigned requests;
    struct session_party party;
    /* Output that was queued and has not drained: exec id -> bytes. */
    GHashTable *held;
    struct event_filter *filter;
    bool has_looked;    /* has sent a request of "looking" */
    bool is_user;       /* has sent another one */
    bool is_bounded;    /* closed when an event has no room in its queue */
    guint close_source; /* closes it later, or 0 */
};

struct request {
    struct api_client *client;
    char *id;
};

static void client_unref(struct api_client *client)
{
    if (--client->refs == 0)
        g_free(client);
}

/* ---- responses ----------------------------------------------------------- */

static void send_error(struct api_client *client, const char *id,
                       const GError *error, json_t *data)
{
    log_emit(LOG_LEVEL_INFO, LOG_STDIO_API,
             json_pack("{s:s?}", "request_id", id), "refused: %s",
             error->message);
    session_counters(client->session)->refused++;
    jsonl_channel_send(client->channel,
                       message_error(id, (enum error_code)error_code_of(error),
                                     error->message,
                                     data ? json_incref(data) : NULL),
                       false);
}

static void send_refusal(struct api_client *client, const char *id,
                         enum error_code code, const char *text)
{
    g_autoptr(GError) error = g_error_new_literal(STEPBACK_ERROR, code, text);

    send_error(client, id, error, NULL);
}

/* Implements stdio_ops_done. */
static void respond(json_t *payload, const GError *error, json_t *data,
                    void *opaque)
{
    struct request *request = opaque;
    struct api_client *client = request->client;

    if (!client->gone && error) {
        send_error(client, request->id, error, data);
    } else if (!client->gone) {
        log_emit(LOG_LEVEL_INFO, LOG_STDIO_API,
                 json_pack("{s:s}", "request_id", request->id), "answered");
        jsonl_channel_send(
            client->channel,
            message_response(request->id,
                             payload ? json_incref(payload) : NULL),
            false);
    }
    client->requests--;
    client_unref(client);
    g_free(request->id);
    g_free(request);
}

/* ---- requests ------------------------------------------------------------ */

static gboolean subscribe(struct api_client *client, json_t *payload,
                          json_t **ret_answer, GError **error)
{
    static const char *const fields[] = { "types", NULL };

    if (!message_check_known(payload, fields, error) ||
        !event_filter_subscribe(client->filter, payload, error))
        return FALSE;
    *ret_answer = json_object();
    return TRUE;
}

static gboolean describe(struct api_client *client, json_t *payload,
                         json_t **ret_answer, GError **error)
{
    static const char *const fields[] = { NULL };

    if (!message_check_known(payload, fields, error))
        return FALSE;
    if (!client->callbacks->describe) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_NOT_FOUND,
                            "this supervisor serves no named sandbox; "
                            "'stepback up' starts one");
        return FALSE;
    }
    *ret_answer = client->callbacks->describe(client->opaque);
    return TRUE;
}

/* Requests that do not keep an idle sandbox running. */
static void note_use(struct api_client *client, const char *type)
{
    static const char *const looking[] = { "network.status",
                                           "network.connections",
                                           "sandbox.info", NULL };

    if (g_strv_contains(looking, type))
        client->has_looked = true;
    else
        client->is_user = true;
}

bool api_client_is_user(const struct api_client *client)
{
    return client->is_user || !client->has_looked;
}

/* Operations on the client, not on the session; STDIO_OPS_OF_CLIENTS has their
 * names. */
static const struct {
    const char *type;
    gboolean (*carry_out)(struct api_client *client, json_t *payload,
                          json_t **ret_answer, GError **error);
} own_operations[] = {
    { "events.subscribe", subscribe },
    { "sandbox.info", describe },
};

static void on_will_warn(const struct answer *answer, const GError *error,
                         void *opaque)
{
    json_t *payload = json_object();

    respond(payload, NULL, NULL, opaque);
    json_decref(payload);
}

/* A client that subscribes to warnings gets those of the network that no client
 * has got, if their cause comes again. Return false if it need not wait for
 * that. */
static bool waits_for_network(struct api_client *client, const char *type,
                              struct request *request)
{
    return strcmp(type, "events.subscribe") == 0 &&
           event_filter_has(client->filter, "event.warning") &&
           session_warn_again(client->session, on_will_warn, request);
}

/* Carry out an operation on the client. Return false if it is none. */
static bool dispatch_own(struct api_client *client, const char *type,
                         json_t *payload, struct request *request)
{
    for (size_t i = 0; i < G_N_ELEMENTS(own_operations); i++) {
        g_autoptr(GError) error = NULL;
        json_t *answer = NULL;

        if (strcmp(type, own_operations[i].type) != 0)
            continue;
        own_operations[i].carry_out(client, payload, &answer, &error);
        if (error || !waits_for_network(client, type, request))
            respond(answer, error, NULL, request);
        json_decref(answer);
        return true;
    }
    return false;
}

static void dispatch(struct api_client *client, const char *id,
                     const char *type, json_t *payload)
{
    g_autoptr(GError) error = NULL;
    struct request *request;

    if (client->requests >= MAX_REQUESTS) {
        send_refusal(client, id, ERROR_BUSY,
                     "too many requests are waiting; wait for responses");
        return;
    }
    note_use(client, type);
    log_set_request(id);
    log_info(LOG_STDIO_API, "request %.100s", type);
    request = g_new0(struct request, 1);
    request->client = client;
    request->id = g_strdup(id);
    client->requests++;
    client->refs++;
    if (!dispatch_own(client, type, payload, request) &&
        !stdio_ops_carry_out(client->session, &client->party, type, payload,
                             respond, request, &error))
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

static void on_request(struct api_client *client, json_t *message)
{
    json_t *payload = json_object_get(message, "payload");
    const char *id = NULL, *type;
    g_autoptr(GError) error = NULL;

    session_counters(client->session)->requests++;
    if (!message_get_string(message, "request_id", &id, &error) ||
        !message_get_string(message, "type", &type, &error)) {
        send_error(client, id, error, NULL);
    } else if (strlen(id) > REQUEST_ID_MAX) {
        send_refusal(client, NULL, ERROR_INVALID_FIELD,
                     "the field 'request_id' must be at most 256 bytes long");
    } else if (payload && !json_is_object(payload)) {
        send_refusal(client, id, ERROR_INVALID_FIELD,
                     "the field 'payload' must be an object");
    } else if (!check_members(message, type, &error)) {
        send_error(client, id, error, NULL);
    } else {
        dispatch(client, id, type, payload);
    }
}

/* id: the line's id if it could be parsed, or NULL. */
static void on_not_taken(struct api_client *client, enum error_code code,
                         json_t *id, const char *text)
{
    bool fits = json_is_string(id) && json_string_length(id) <= REQUEST_ID_MAX;

    send_refusal(client, fits ? json_string_value(id) : NULL, code, text);
}

static void on_line(struct jsonl_channel *channel, enum jsonl_status status,
                    json_t *message, const char *error, void *opaque)
{
    struct api_client *client = opaque;

    if (status == JSONL_OK)
        on_request(client, message);
    else if (status == JSONL_TOO_LONG)
        on_not_taken(client, ERROR_MESSAGE_TOO_LARGE, message, error);
    else
        on_not_taken(client, ERROR_MALFORMED_JSON, message, error);
}

static void on_closed(struct jsonl_channel *channel, void *opaque)
{
    struct api_client *client = opaque;

    client->callbacks->closed(client, client->opaque);
}

/* ---- executions ---------------------------------------------------------- */

/* The client has read most of its queue: executions may go on. */
static void on_drained(struct jsonl_channel *channel, void *opaque)
{
    struct api_client *client = opaque;
    g_autoptr(GHashTable) held = client->held;
    GHashTableIter iter;
    gpointer id, bytes;

    client->held = g_hash_table_new(NULL, NULL);
    g_hash_table_iter_init(&iter, held);
    while (g_hash_table_iter_next(&iter, &id, &bytes))
        session_exec_consumed(client->session, GPOINTER_TO_SIZE(id),
                              &client->party, GPOINTER_TO_SIZE(bytes));
}

/* Implements session_party_callbacks. */
static void on_exec_output(const struct command_output *output, void *opaque)
{
    struct api_client *client = opaque;
    gpointer id = GSIZE_TO_POINTER((gsize)output->exec_id);
    gsize held = GPOINTER_TO_SIZE(g_hash_table_lookup(client->held, id));

    api_client_send(client, message_event("event.exec_output",
                                          exec_output_to_json(output)));
    if (jsonl_channel_queued(client->channel) <= JSONL_LOW)
        session_exec_consumed(client->session, output->exec_id, &client->party,
                              output->len);
    else
        g_hash_table_insert(client->held, id,
                            GSIZE_TO_POINTER(held + output->len));
}

static void on_exec_exited(const struct exec_exit *exit, void *opaque)
{
    api_client_send(
        opaque, message_event("event.exec_exited", exec_exit_to_json(exit)));
}

static void on_exec_replaced(gint64 exec_id, void *opaque)
{
    api_client_send(opaque, message_event("event.exec_detached",
                                          json_pack("{s:I}", "exec_id",
                                                    (json_int_t)exec_id)));
}

static const struct session_party_callbacks party_callbacks = {
    .output = on_exec_output,
    .exited = on_exec_exited,
    .replaced = on_exec_replaced,
};

static const struct jsonl_callbacks channel_callbacks = {
    .line = on_line,
    .closed = on_closed,
    .drained = on_drained,
    .id_member = "request_id",
};

static gboolean close_slow(gpointer data)
{
    struct api_client *client = data;

    client->close_source = 0;
    log_warn(LOG_STDIO_API,
             "client reads too slowly for its events; closing its connection");
    client->callbacks->closed(client, client->opaque);
    return G_SOURCE_REMOVE;
}

/* Implements session_callbacks.event. */
static bool on_event(const struct session_event *event, void *opaque)
{
    struct api_client *client = opaque;
    json_t *message = event_to_json(event);
    bool sent;

    if (!event_filter_wants(client->filter, event, message)) {
        json_decref(message);
        return true;
    }
    if (event->type == SESSION_EVENT_WARNING)
        session_hear_warning(client->session);
    sent = jsonl_channel_send(client->channel, message,
                              event->droppable || client->is_bounded);
    /* Not at once: the session is sending to its listeners. */
    if (!sent && !event->droppable && !client->close_source)
        client->close_source = g_idle_add(close_slow, client);
    return sent;
}

static const struct session_callbacks session_callbacks = {
    .event = on_event,
};

/* ---- life ---------------------------------------------------------------- */

static struct api_client *
make_client(int in_fd, int out_fd, bool is_filtered, struct session *session,
            const struct api_client_callbacks *callbacks, void *opaque)
{
    struct api_client *client = g_new0(struct api_client, 1);

    client->refs = 1;
    client->session = session;
    client->callbacks = callbacks;
    client->opaque = opaque;
    client->party = (struct session_party){ &party_callbacks, client };
    client->held = g_hash_table_new(NULL, NULL);
    client->filter = event_filter_new(&client->party, !is_filtered);
    client->is_bounded = is_filtered;
    client->channel = jsonl_channel_new(in_fd, out_fd, MAX_LINE, MAX_QUEUE,
                                        &channel_callbacks, client);
    session_listen(session, &session_callbacks, client);
    return client;
}

struct api_client *api_client_new(int in_fd, int out_fd,
                                  struct session *session,
                                  const struct api_client_callbacks *callbacks,
                                  void *opaque)
{
    return make_client(in_fd, out_fd, false, session, callbacks, opaque);
}

struct api_client *
api_client_new_filtered(int fd, struct session *session,
                        const struct api_client_callbacks *callbacks,
                        void *opaque)
{
    return make_client(fd, fd, true, session, callbacks, opaque);
}

void api_client_free(struct api_client *client)
{
    if (!client)
        return;
    session_exec_leave(client->session, &client->party);
    session_unlisten(client->session, &session_callbacks, client);
    g_clear_handle_id(&client->close_source, g_source_remove);
    g_clear_pointer(&client->channel, jsonl_channel_free);
    g_hash_table_unref(client->held);
    g_clear_pointer(&client->filter, event_filter_free);
    client->gone = true;
    client_unref(client);
}

void api_client_send(struct api_client *client, json_t *message)
{
    jsonl_channel_send(client->channel, message, false);
}

void api_client_flush(struct api_client *client, int timeout_ms)
{
    jsonl_channel_flush(client->channel, timeout_ms);
}
