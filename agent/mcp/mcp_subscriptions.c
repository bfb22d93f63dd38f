/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_subscriptions - see mcp_subscriptions.h.
 */
#include "agent/mcp/mcp_subscriptions.h"

#include <string.h>

struct stream {
    struct mcp_call *call;
    GHashTable *uris;
    bool list;
};

struct mcp_subscriptions {
    const struct mcp_transport *transport;
    struct mcp_connection *connection;
    bool legacy;
    GHashTable *uris;   /* of the earlier era */
    GPtrArray *streams; /* of struct stream */
};

static void stream_free(gpointer data)
{
    struct stream *stream = data;

    g_hash_table_unref(stream->uris);
    g_free(stream);
}

static GHashTable *new_set(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

struct mcp_subscriptions *
mcp_subscriptions_new(const struct mcp_transport *transport,
                      struct mcp_connection *connection)
{
    struct mcp_subscriptions *subscriptions = g_new0(struct mcp_subscriptions,
                                                     1);

    subscriptions->transport = transport;
    subscriptions->connection = connection;
    subscriptions->uris = new_set();
    subscriptions->streams = g_ptr_array_new_with_free_func(stream_free);
    return subscriptions;
}

void mcp_subscriptions_free(struct mcp_subscriptions *subscriptions)
{
    g_hash_table_unref(subscriptions->uris);
    g_ptr_array_unref(subscriptions->streams);
    g_free(subscriptions);
}

void mcp_subscriptions_set_legacy(struct mcp_subscriptions *subscriptions)
{
    subscriptions->legacy = true;
}

static guint count(const struct mcp_subscriptions *subscriptions)
{
    guint sum = g_hash_table_size(subscriptions->uris);

    for (guint i = 0; i < subscriptions->streams->len; i++) {
        struct stream *stream = g_ptr_array_index(subscriptions->streams, i);

        sum += 1 + g_hash_table_size(stream->uris);
    }
    return sum;
}

bool mcp_subscriptions_add(struct mcp_subscriptions *subscriptions,
                           const char *uri)
{
    if (count(subscriptions) >= MCP_SUBSCRIPTIONS_MAX ||
        strlen(uri) > MCP_SUBSCRIPTIONS_URI_MAX)
        return false;
    g_hash_table_add(subscriptions->uris, g_strdup(uri));
    return true;
}

void mcp_subscriptions_remove(struct mcp_subscriptions *subscriptions,
                              const char *uri)
{
    g_hash_table_remove(subscriptions->uris, uri);
}

/* ---- streams ------------------------------------------------------------- */

/* Return the metadata that ties a notification to a stream: a new object. */
static json_t *stream_meta(const struct stream *stream)
{
    return json_pack("{s:O}", MCP_META_SUBSCRIPTION, mcp_call_id(stream->call));
}

static void tell(struct mcp_subscriptions *subscriptions,
                 const struct stream *stream, const char *method,
                 json_t *params)
{
    if (stream)
        json_object_set_new(params, "_meta", stream_meta(stream));
    subscriptions->transport->notify(subscriptions->connection, method, params);
}

static void on_cancelled(struct mcp_call *call, void *opaque)
{
    mcp_call_finish(call, json_object());
}

static bool wants(json_t *filter, const char *key)
{
    return json_is_true(json_object_get(filter, key));
}

/* Parse the filter; resources that are not served are left out. Return false if
 * there are too many. */
static bool read_uris(struct mcp_subscriptions *subscriptions, json_t *list,
                      GHashTable *uris, json_t *accepted)
{
    json_t *names = json_array(), *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        const char *uri = json_string_value(item);

        if (!uri || strlen(uri) > MCP_SUBSCRIPTIONS_URI_MAX ||
            count(subscriptions) + i >= MCP_SUBSCRIPTIONS_MAX) {
            json_decref(names);
            return false;
        }
        g_hash_table_add(uris, g_strdup(uri));
        json_array_append(names, item);
    }
    if (list)
        json_object_set_new(accepted, "resourceSubscriptions", names);
    else
        json_decref(names);
    return true;
}

void mcp_subscriptions_listen(struct mcp_subscriptions *subscriptions,
                              struct mcp_call *call)
{
    json_t *filter = json_object_get(mcp_call_params(call), "notifications");
    json_t *list = json_object_get(filter, "resourceSubscriptions");
    json_t *accepted = json_object();
    GHashTable *uris = new_set();
    struct stream *stream;

    if (!json_is_object(filter) || (list && !json_is_array(list)) ||
        count(subscriptions) >= MCP_SUBSCRIPTIONS_MAX ||
        !read_uris(subscriptions, list, uris, accepted)) {
        json_decref(accepted);
        g_hash_table_unref(uris);
        mcp_call_fail(
            call, MCP_RPC_INVALID_PARAMS, NULL,
            "'notifications' must be an object; its 'resourceSubscriptions' "
            "must be strings, at most %d in total",
            MCP_SUBSCRIPTIONS_MAX);
        return;
    }
    stream = g_new0(struct stream, 1);
    stream->call = call;
    stream->uris = uris;
    stream->list = wants(filter, "resourcesListChanged");
    if (stream->list)
        json_object_set_new(accepted, "resourcesListChanged", json_true());
    g_ptr_array_add(subscriptions->streams, stream);
    mcp_call_set_cancelled(call, on_cancelled, NULL);
    tell(subscriptions, stream, "notifications/subscriptions/acknowledged",
         json_pack("{s:o}", "notifications", accepted));
}

unsigned
mcp_subscriptions_streams(const struct mcp_subscriptions *subscriptions)
{
    return subscriptions->streams->len;
}

void mcp_subscriptions_end(struct mcp_subscriptions *subscriptions,
                           struct mcp_call *call)
{
    for (guint i = 0; i < subscriptions->streams->len; i++) {
        struct stream *stream = g_ptr_array_index(subscriptions->streams, i);

        if (stream->call == call) {
            g_ptr_array_remove_index_fast(subscriptions->streams, i);
            return;
        }
    }
}

void mcp_subscriptions_close(struct mcp_subscriptions *subscriptions)
{
    while (subscriptions->streams->len > 0) {
        struct stream *stream = g_ptr_array_index(subscriptions->streams, 0);

        mcp_call_finish(stream->call,
                        json_pack("{s:o}", "_meta", stream_meta(stream)));
    }
}

/* ---- notifications ------------------------------------------------------- */

void mcp_subscriptions_tell_updated(struct mcp_subscriptions *subscriptions,
                                    const char *uri)
{
    static const char method[] = "notifications/resources/updated";

    if (g_hash_table_contains(subscriptions->uris, uri))
        tell(subscriptions, NULL, method, json_pack("{s:s}", "uri", uri));
    for (guint i = 0; i < subscriptions->streams->len; i++) {
        struct stream *stream = g_ptr_array_index(subscriptions->streams, i);

        if (g_hash_table_contains(stream->uris, uri))
            tell(subscriptions, stream, method, json_pack("{s:s}", "uri", uri));
    }
}

void mcp_subscriptions_tell_list(struct mcp_subscriptions *subscriptions)
{
    static const char method[] = "notifications/resources/list_changed";

    if (subscriptions->legacy)
        tell(subscriptions, NULL, method, json_object());
    for (guint i = 0; i < subscriptions->streams->len; i++) {
        struct stream *stream = g_ptr_array_index(subscriptions->streams, i);

        if (stream->list)
            tell(subscriptions, stream, method, json_object());
    }
}

static void each_of(GHashTable *uris, void (*each)(const char *, void *),
                    void *opaque)
{
    GHashTableIter iter;
    gpointer uri;

    g_hash_table_iter_init(&iter, uris);
    while (g_hash_table_iter_next(&iter, &uri, NULL))
        each(uri, opaque);
}

void mcp_subscriptions_each(struct mcp_subscriptions *subscriptions,
                            void (*each)(const char *uri, void *opaque),
                            void *opaque)
{
    each_of(subscriptions->uris, each, opaque);
    for (guint i = 0; i < subscriptions->streams->len; i++) {
        struct stream *stream = g_ptr_array_index(subscriptions->streams, i);

        each_of(stream->uris, each, opaque);
    }
}
