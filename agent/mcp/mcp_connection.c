/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_connection - see mcp_connection.h.
 *
 * A batch (only in 2025-03-26) is answered with one array once all its requests
 * are answered. Each of its calls refers to the batch; a cancelled call leaves
 * it without an answer.
 */
#include "agent/mcp/mcp_connection.h"

#include "agent/mcp/mcp_meta.h"
#include "agent/mcp/mcp_questions.h"
#include "agent/mcp/mcp_registry.h"
#include "agent/mcp/mcp_subscriptions.h"
#include "common/jsonl.h"
#include "common/log.h"

struct batch {
    json_t *answers;
    unsigned pending; /* unanswered calls, plus one while the batch is parsed */
};

/* A call in flight. */
struct entry {
    struct mcp_call *call;
    struct batch *batch; /* or NULL */
};

struct mcp_connection {
    struct mcp_registry *registry;
    struct jsonl_channel *channel;
    void (*closed)(struct mcp_connection *, void *);
    void *opaque;

    GHashTable *calls; /* id key -> struct entry */
    struct mcp_questions *questions;
    struct batch *batch; /* the batch being parsed, or NULL */
    struct mcp_subscriptions *subscriptions;
    bool ended;     /* the client has closed its input */
    bool finishing; /* and has all answers except those queued */
    guint linger;   /* timer: how long to wait for running requests */

    /* Only in the earlier era. */
    bool initialized;
    enum mcp_version version;
    json_t *capabilities;
    int log_level;
};

/* ---- sending ------------------------------------------------------------- */

static void send_message(struct mcp_connection *connection, json_t *message)
{
    jsonl_channel_send(connection->channel, message, false);
}

static void batch_release(struct mcp_connection *connection,
                          struct batch *batch)
{
    if (--batch->pending > 0)
        return;
    if (json_array_size(batch->answers) > 0)
        send_message(connection, json_incref(batch->answers));
    json_decref(batch->answers);
    g_free(batch);
}

static void answer_in(struct mcp_connection *connection, struct batch *batch,
                      json_t *message)
{
    if (batch)
        json_array_append_new(batch->answers, message);
    else
        send_message(connection, message);
}

/* id is borrowed and may be NULL. data is taken. */
static void refuse(struct mcp_connection *connection, json_t *id, int code,
                   json_t *data, const char *text)
{
    log_info(LOG_MCP, "refused: %s", text);
    answer_in(connection, connection->batch,
              mcp_rpc_error(id, code, text, data));
}

static void notify(struct mcp_connection *connection, const char *method,
                   json_t *params)
{
    jsonl_channel_send(connection->channel,
                       mcp_rpc_notification(method, params), true);
}

void mcp_connection_log(struct mcp_connection *connection, const char *level,
                        const char *logger, json_t *data)
{
    if (mcp_log_level_parse(level) >= connection->log_level)
        notify(connection, "notifications/message",
               json_pack("{s:s, s:s, s:O}", "level", level, "logger", logger,
                         "data", data));
}

/* ---- calls --------------------------------------------------------------- */

static void add_call(struct mcp_connection *connection, struct mcp_call *call)
{
    struct entry *entry = g_new0(struct entry, 1);

    entry->call = call;
    entry->batch = connection->batch;
    if (entry->batch)
        entry->batch->pending++;
    g_hash_table_replace(connection->calls, mcp_rpc_id_key(mcp_call_id(call)),
                         entry);
}

/* Streams never end by themselves, so they do not delay the end. */
static void finish_if_done(struct mcp_connection *connection)
{
    if (!connection->ended || connection->finishing ||
        g_hash_table_size(connection->calls) >
            mcp_subscriptions_streams(connection->subscriptions))
        return;
    connection->finishing = true;
    mcp_subscriptions_close(connection->subscriptions);
    jsonl_channel_finish(connection->channel);
}

static void remove_call(struct mcp_connection *connection,
                        struct mcp_call *call)
{
    g_autofree char *key = mcp_rpc_id_key(mcp_call_id(call));
    struct entry *entry = g_hash_table_lookup(connection->calls, key);
    struct batch *batch;

    if (!entry || entry->call != call)
        return;
    batch = entry->batch;
    mcp_subscriptions_end(connection->subscriptions, call);
    g_hash_table_remove(connection->calls, key);
    if (batch)
        batch_release(connection, batch);
    finish_if_done(connection);
}

static void answer(struct mcp_connection *connection, struct mcp_call *call,
                   json_t *message)
{
    g_autofree char *key = mcp_rpc_id_key(mcp_call_id(call));
    struct entry *entry = g_hash_table_lookup(connection->calls, key);

    answer_in(connection, entry ? entry->batch : NULL, message);
}

/* ---- questions ----------------------------------------------------------- */

static bool can_ask(const struct mcp_connection *connection)
{
    return !connection->ended;
}

static bool ask(struct mcp_connection *connection, struct mcp_call *call,
                const char *key, const char *method, json_t *params)
{
    g_autofree char *id = mcp_questions_add(connection->questions, call, key);

    if (id)
        send_message(connection, mcp_rpc_request(id, method, params));
    else
        json_decref(params);
    return id != NULL;
}

static void withdraw(const char *id, void *opaque)
{
    notify(opaque, "notifications/cancelled",
           json_pack("{s:s, s:s}", "requestId", id, "reason",
                     "decided elsewhere"));
}

static void unask(struct mcp_connection *connection, struct mcp_call *call)
{
    mcp_questions_remove(connection->questions, call, withdraw, connection);
}

static const struct mcp_transport transport = {
    .add_call = add_call,
    .remove_call = remove_call,
    .answer = answer,
    .notify = notify,
    .can_ask = can_ask,
    .ask = ask,
    .unask = unask,
};

/* ---- requests ------------------------------------------------------------ */

/* Return false if the request was refused. */
static bool read_meta(struct mcp_connection *connection,
                      struct mcp_call_config *config)
{
    json_t *data = NULL;
    const char *problem;
    int code = mcp_meta_read(config, &problem, &data);

    if (code == 0)
        return true;
    refuse(connection, config->id, code, data, problem);
    return false;
}

static bool is_modern(const struct mcp_connection *connection,
                      const struct mcp_rpc *rpc)
{
    json_t *meta = json_object_get(rpc->params, "_meta");

    return json_object_get(meta, MCP_META_VERSION) ||
           mcp_registry_is_modern_only(connection->registry, rpc->method) ||
           (!connection->initialized && !mcp_registry_is_opening(rpc->method));
}

static void repeat(struct mcp_connection *connection,
                   const struct mcp_call_config *config, json_t *state)
{
    struct mcp_call *call = mcp_registry_find_parked(connection->registry,
                                                     json_string_value(state));

    /* Compare the whole request, so that knowing another request's token gains
     * nothing. */
    if (call && mcp_call_is_repeated(call, config))
        mcp_call_repeat(call, config);
    else
        refuse(
            connection, config->id, MCP_RPC_INVALID_PARAMS, NULL,
            "'requestState' was not issued for this request, or has expired");
}

static void start_call(struct mcp_connection *connection,
                       const struct mcp_call_config *config, bool modern)
{
    const struct mcp_method *method = mcp_registry_find_method(
        connection->registry, config->method, modern);
    json_t *state = modern ? json_object_get(config->params, "requestState")
                           : NULL;

    if (!method)
        refuse(connection, config->id, MCP_RPC_METHOD_NOT_FOUND, NULL,
               "unknown method");
    else if (state)
        repeat(connection, config, state);
    else
        method->handle(mcp_call_new(config));
}

static void on_request(struct mcp_connection *connection,
                       const struct mcp_rpc *rpc)
{
    g_autofree char *key = mcp_rpc_id_key(rpc->id);
    bool modern = is_modern(connection, rpc);
    struct mcp_call_config config = {
        .registry = connection->registry,
        .transport = &transport,
        .connection = connection,
        .id = rpc->id,
        .params = rpc->params,
        .method = rpc->method,
        .version = connection->version,
        .capabilities = connection->capabilities,
        .log_level = connection->log_level,
    };

    log_emit(LOG_LEVEL_DEBUG, LOG_MCP, json_pack("{s:s}", "request_id", key),
             "request %s", rpc->method);
    if (g_hash_table_contains(connection->calls, key))
        refuse(connection, rpc->id, MCP_RPC_INVALID_REQUEST, NULL,
               "a request with this 'id' is still waiting for its answer");
    else if (g_hash_table_size(connection->calls) >= MCP_CONNECTION_MAX_CALLS)
        refuse(connection, rpc->id, MCP_RPC_INTERNAL_ERROR, NULL,
               "too many requests are waiting");
    else if (!modern || read_meta(connection, &config))
        start_call(connection, &config, modern);
}

static void on_notification(struct mcp_connection *connection,
                            const struct mcp_rpc *rpc)
{
    json_t *id = json_object_get(rpc->params, "requestId");
    struct entry *entry;

    if (g_strcmp0(rpc->method, "notifications/cancelled") != 0 ||
        !(json_is_string(id) || json_is_integer(id)))
        return;
    {
        g_autofree char *key = mcp_rpc_id_key(id);

        entry = g_hash_table_lookup(connection->calls, key);
    }
    if (entry)
        mcp_call_cancel(entry->call);
}

/* ---- lines --------------------------------------------------------------- */

static void on_message(struct mcp_connection *connection, json_t *message)
{
    struct mcp_rpc rpc;

    mcp_rpc_parse(message, &rpc);
    switch (rpc.kind) {
    case MCP_RPC_REQUEST:
        on_request(connection, &rpc);
        break;
    case MCP_RPC_NOTIFICATION:
        on_notification(connection, &rpc);
        break;
    case MCP_RPC_RESPONSE:
        mcp_questions_answer(connection->questions, rpc.id, rpc.result);
        break;
    case MCP_RPC_INVALID:
        refuse(connection, rpc.id, MCP_RPC_INVALID_REQUEST, NULL, rpc.problem);
        break;
    }
}

static void on_batch(struct mcp_connection *connection, json_t *messages)
{
    struct batch *batch;
    json_t *message;
    size_t i;

    if (json_array_size(messages) == 0 || !connection->initialized ||
        connection->version != MCP_2025_03_26) {
        refuse(connection, NULL, MCP_RPC_INVALID_REQUEST, NULL,
               "a message must be an object; only version 2025-03-26 has "
               "batches, and they must not be empty");
        return;
    }
    batch = g_new0(struct batch, 1);
    batch->answers = json_array();
    batch->pending = 1;
    connection->batch = batch;
    json_array_foreach(messages, i, message)
    {
        on_message(connection, message);
    }
    connection->batch = NULL;
    batch_release(connection, batch);
}

/* id: the line's id if it could be parsed. A waiting client, or a call that has
 * asked the client, must get an error now. */
static void on_not_taken(struct mcp_connection *connection, int code,
                         json_t *id, const char *text)
{
    if (!mcp_questions_answer(connection->questions, id, NULL))
        refuse(connection, mcp_rpc_is_id(id) ? id : NULL, code, NULL, text);
}

static void on_line(struct jsonl_channel *channel, enum jsonl_status status,
                    json_t *message, const char *error, void *opaque)
{
    struct mcp_connection *connection = opaque;

    if (status == JSONL_MALFORMED)
        on_not_taken(connection, MCP_RPC_PARSE_ERROR, message, error);
    else if (status == JSONL_TOO_LONG)
        on_not_taken(connection, MCP_RPC_INVALID_REQUEST, message, error);
    else if (json_is_array(message))
        on_batch(connection, message);
    else
        on_message(connection, message);
}

static void on_closed(struct jsonl_channel *channel, void *opaque)
{
    struct mcp_connection *connection = opaque;

    connection->closed(connection, connection->opaque);
}

static gboolean on_lingered(gpointer data)
{
    struct mcp_connection *connection = data;

    connection->linger = 0;
    log_warn(
        LOG_MCP,
        "a client closed its input %u s ago; cancelling its remaining requests",
        connection->registry->linger_s);
    connection->closed(connection, connection->opaque);
    return G_SOURCE_REMOVE;
}

static void on_ended(struct jsonl_channel *channel, void *opaque)
{
    struct mcp_connection *connection = opaque;

    connection->ended = true;
    /* GLib groups timers of whole seconds and may fire them up to a quarter
     * second early. */
    connection->linger = g_timeout_add(connection->registry->linger_s * 1000,
                                       on_lingered, connection);
    mcp_questions_end(connection->questions);
    finish_if_done(connection);
}

static const struct jsonl_callbacks channel_callbacks = {
    .line = on_line,
    .closed = on_closed,
    .ended = on_ended,
    .takes_any = true,
    .id_member = "id",
};

/* ---- life ---------------------------------------------------------------- */

struct mcp_connection *
mcp_connection_new(struct mcp_registry *registry, int in_fd, int out_fd,
                   void (*closed)(struct mcp_connection *, void *opaque),
                   void *opaque)
{
    struct mcp_connection *connection = g_new0(struct mcp_connection, 1);

    connection->registry = registry;
    connection->closed = closed;
    connection->opaque = opaque;
    connection->version = MCP_LATEST_LEGACY;
    connection->log_level = MCP_META_NO_LOG;
    connection->calls = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                              g_free);
    connection->questions = mcp_questions_new();
    connection->subscriptions = mcp_subscriptions_new(&transport, connection);
    connection->channel = jsonl_channel_new(
        in_fd, out_fd, MCP_CONNECTION_MAX_LINE, MCP_CONNECTION_MAX_QUEUE,
        &channel_callbacks, connection);
    return connection;
}

static void cancel_calls(struct mcp_connection *connection)
{
    GHashTableIter iter;
    gpointer value;

    /* Each cancellation removes one entry from the table, and may remove
     * others. */
    for (;;) {
        g_hash_table_iter_init(&iter, connection->calls);
        if (!g_hash_table_iter_next(&iter, NULL, &value))
            break;
        mcp_call_cancel(((struct entry *)value)->call);
    }
}

void mcp_connection_free(struct mcp_connection *connection, int flush_ms)
{
    g_clear_handle_id(&connection->linger, g_source_remove);
    mcp_subscriptions_close(connection->subscriptions);
    cancel_calls(connection);
    if (flush_ms > 0)
        jsonl_channel_flush(connection->channel, flush_ms);
    jsonl_channel_free(connection->channel);
    mcp_subscriptions_free(connection->subscriptions);
    g_hash_table_unref(connection->calls);
    mcp_questions_free(connection->questions);
    json_decref(connection->capabilities);
    g_free(connection);
}

/* ---- members ------------------------------------------------------------- */

void mcp_connection_initialize(struct mcp_connection *connection,
                               enum mcp_version version, json_t *capabilities)
{
    connection->initialized = true;
    connection->version = version;
    json_decref(connection->capabilities);
    connection->capabilities = json_incref(capabilities);
    mcp_subscriptions_set_legacy(connection->subscriptions);
}

void mcp_connection_set_log_level(struct mcp_connection *connection, int level)
{
    connection->log_level = level;
}

struct mcp_subscriptions *
mcp_connection_subscriptions(struct mcp_connection *connection)
{
    return connection->subscriptions;
}
