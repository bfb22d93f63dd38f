/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_server - see mcp_server.h.
 */
#include "agent/mcp/mcp_server.h"

#include "agent/mcp/mcp_base.h"
#include "agent/mcp/mcp_call.h"
#include "agent/mcp/mcp_connection.h"
#include "agent/mcp/mcp_subscriptions.h"
#include "common/fd.h"
#include "common/log.h"

enum { FLUSH_MS = 500 };

struct client {
    struct mcp_server *server;
    struct mcp_connection *connection;
    void (*closed)(void *opaque);
    void *opaque;
};

struct mcp_server {
    struct mcp_registry registry;
    GPtrArray *clients; /* of struct client */
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
        log_warn(LOG_MCP, "client refused: %d clients are already connected",
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
    client->connection = mcp_connection_new(&server->registry, in_fd, out_fd,
                                            on_closed, client);
    g_ptr_array_add(server->clients, client);
    return true;
}

void mcp_server_set_linger(struct mcp_server *server, unsigned seconds)
{
    server->registry.linger_s = seconds;
}

unsigned mcp_server_clients(const struct mcp_server *server)
{
    return server->clients->len;
}

/* ---- notifications ------------------------------------------------------- */

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

static void cancel_parked(struct mcp_server *server)
{
    GHashTableIter iter;
    gpointer call;

    for (;;) {
        g_hash_table_iter_init(&iter, server->registry.parked);
        if (!g_hash_table_iter_next(&iter, NULL, &call))
            break;
        mcp_call_drop(call);
    }
}

/* ---- life ---------------------------------------------------------------- */

struct mcp_server *mcp_server_new(const struct mcp_service *service,
                                  void *opaque)
{
    struct mcp_server *server = g_new0(struct mcp_server, 1);

    mcp_registry_init(&server->registry, service, mcp_base_methods, opaque);
    server->registry.linger_s = MCP_SERVER_LINGER_S;
    server->clients = g_ptr_array_new();
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
    mcp_registry_clear(&server->registry);
    g_free(server);
}
