/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_server - see mcp_server.h.
 *
 * A token of a parked call is random: whoever has not got it cannot guess it.
 */
#include "agent/mcp/mcp_server.h"

#include <string.h>
#include <sys/random.h>

#include "agent/mcp/mcp_connection.h"
#include "agent/mcp/mcp_subscriptions.h"
#include "common/fd.h"
#include "common/log.h"

enum { FLUSH_MS = 500, TOKEN_BYTES = 18 };

struct client {
    struct mcp_server *server;
    struct mcp_connection *connection;
    void (*closed)(void *opaque);
    void *opaque;
};

struct mcp_server {
    const struct mcp_service *service;
    void *opaque;
    GPtrArray *clients; /* of struct client */
    GHashTable *parked; /* token -> struct mcp_call, not owned */
    unsigned linger_s;
};

/* ---- clients ------------------------------------------------------------- */

static void client_free(struct client *client, int flush_ms)
{
    mcp_connection_free(client->connection, flush_ms);
    g_free(client);
}

static void on_closed(struct mcp_connection *connection, void *opaque)
{
    struct client *client = opaque;
    void (*closed)(void *opaque) = client->closed;
    void *closed_opaque = client->opaque;

    g_ptr_array_remove_fast(client->server->clients, client);
    client_free(client, 0);
    if (closed)
        closed(closed_opaque);
}

bool mcp_server_add(struct mcp_server *server, int in_fd, int out_fd,
                    void (*closed)(void *opaque), void *opaque)
{
    struct client *client;

    if (server->clients->len >= MCP_SERVER_MAX_CLIENTS) {
        log_warn(LOG_MCP, "a client is sent away: there are %d already",
                 MCP_SERVER_MAX_CLIENTS);
        if (out_fd != in_fd)
            fd_close(&out_fd);
        fd_close(&in_fd);
        return false;
    }
    client = g_new0(struct client, 1);
    client->server = server;
    client->closed = closed;
    client->opaque = opaque;
    client->connection = mcp_connection_new(server, in_fd, out_fd, on_closed,
                                            client);
    g_ptr_array_add(server->clients, client);
    return true;
}

void mcp_server_set_linger(struct mcp_server *server, unsigned seconds)
{
    server->linger_s = seconds;
}

unsigned mcp_server_linger(const struct mcp_server *server)
{
    return server->linger_s;
}

unsigned mcp_server_clients(const struct mcp_server *server)
{
    return server->clients->len;
}

/* ---- news ---------------------------------------------------------------- */

static struct mcp_connection *connection_at(const struct mcp_server *server,
                                            guint i)
{
    return ((struct client *)g_ptr_array_index(server->clients, i))->connection;
}

void mcp_server_resource_updated(struct mcp_server *server, const char *uri)
{
    for (guint i = 0; i < server->clients->len; i++)
        mcp_subscriptions_tell_updated(
            mcp_connection_subscriptions(connection_at(server, i)), uri);
}

void mcp_server_resources_changed(struct mcp_server *server)
{
    for (guint i = 0; i < server->clients->len; i++)
        mcp_subscriptions_tell_list(
            mcp_connection_subscriptions(connection_at(server, i)));
}

void mcp_server_log(struct mcp_server *server, const char *level,
                    const char *logger, json_t *data)
{
    for (guint i = 0; i < server->clients->len; i++)
        mcp_connection_log(connection_at(server, i), level, logger, data);
}

void mcp_server_each_subscribed(struct mcp_server *server,
                                void (*each)(const char *uri, void *opaque),
                                void *opaque)
{
    for (guint i = 0; i < server->clients->len; i++)
        mcp_subscriptions_each(
            mcp_connection_subscriptions(connection_at(server, i)), each,
            opaque);
}

/* ---- parked calls -------------------------------------------------------- */

char *mcp_server_park(struct mcp_server *server, struct mcp_call *call)
{
    guint8 bytes[TOKEN_BYTES];
    char *token;

    if (g_hash_table_size(server->parked) >= MCP_SERVER_MAX_PARKED ||
        getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return NULL;
    token = g_base64_encode(bytes, sizeof(bytes));
    g_hash_table_insert(server->parked, g_strdup(token), call);
    return token;
}

void mcp_server_unpark(struct mcp_server *server, const char *token)
{
    g_hash_table_remove(server->parked, token);
}

struct mcp_call *mcp_server_find_parked(const struct mcp_server *server,
                                        const char *token)
{
    return token ? g_hash_table_lookup(server->parked, token) : NULL;
}

static void cancel_parked(struct mcp_server *server)
{
    GHashTableIter iter;
    gpointer call;

    for (;;) {
        g_hash_table_iter_init(&iter, server->parked);
        if (!g_hash_table_iter_next(&iter, NULL, &call))
            break;
        mcp_call_drop(call);
    }
}

/* ---- methods ------------------------------------------------------------- */

static const struct mcp_method *find(const struct mcp_method *methods,
                                     const char *name, bool modern)
{
    for (; methods->name; methods++) {
        if (strcmp(methods->name, name) == 0 &&
            methods->eras & (modern ? MCP_STATELESS : MCP_LEGACY))
            return methods;
    }
    return NULL;
}

const struct mcp_method *mcp_server_find_method(const struct mcp_server *server,
                                                const char *name, bool modern)
{
    const struct mcp_method *method = find(mcp_base_methods, name, modern);

    return method ? method : find(server->service->methods, name, modern);
}

bool mcp_server_is_modern_only(const char *method)
{
    return find(mcp_base_methods, method, true) &&
           !find(mcp_base_methods, method, false);
}

bool mcp_server_is_opening(const char *method)
{
    return strcmp(method, "initialize") == 0 || strcmp(method, "ping") == 0;
}

/* ---- life ---------------------------------------------------------------- */

struct mcp_server *mcp_server_new(const struct mcp_service *service,
                                  void *opaque)
{
    struct mcp_server *server = g_new0(struct mcp_server, 1);

    server->service = service;
    server->opaque = opaque;
    server->linger_s = MCP_SERVER_LINGER_S;
    server->clients = g_ptr_array_new();
    server->parked = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                           NULL);
    return server;
}

void mcp_server_close(struct mcp_server *server)
{
    while (server->clients->len > 0)
        client_free(g_ptr_array_steal_index_fast(server->clients, 0), FLUSH_MS);
    cancel_parked(server);
}

void mcp_server_free(struct mcp_server *server)
{
    if (!server)
        return;
    mcp_server_close(server);
    g_ptr_array_unref(server->clients);
    g_hash_table_unref(server->parked);
    g_free(server);
}

void *mcp_server_opaque(const struct mcp_server *server)
{
    return server->opaque;
}

const struct mcp_service *mcp_server_service(const struct mcp_server *server)
{
    return server->service;
}

json_t *mcp_server_describe(const struct mcp_server *server,
                            enum mcp_version version)
{
    const struct mcp_service *service = server->service;
    json_t *info = json_pack("{s:s, s:s}", "name", service->name, "version",
                             service->version);

    if (version >= MCP_2025_06_18 && service->title)
        json_object_set_new(info, "title", json_string(service->title));
    if (version >= MCP_2025_11_25 && service->description)
        json_object_set_new(info, "description",
                            json_string(service->description));
    return info;
}
