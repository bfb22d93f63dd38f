/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_server - a Model Context Protocol server: its clients and methods.
 *
 * The protocol's own methods are built in (mcp_base.c); a service passes its
 * methods for tools and resources as a table. So tests can use other services
 * with the same code.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_MCP_MCP_SERVER_H
#define AGENT_MCP_MCP_SERVER_H

#include <jansson.h>
#include <stdbool.h>

#include "agent/mcp/mcp_registry.h"

enum {
    MCP_SERVER_MAX_CLIENTS = 16,
    MCP_SERVER_LINGER_S = 600,
};

struct mcp_server;

/* service is borrowed for the server's life. */
struct mcp_server *mcp_server_new(const struct mcp_service *service,
                                  void *opaque);
/* Disconnect the clients and cancel their calls. Queued data is sent, if they
 * read it soon. */
void mcp_server_close(struct mcp_server *server);
void mcp_server_free(struct mcp_server *server);

/* Set how long a client that closed its input still gets answers; the default
 * is MCP_SERVER_LINGER_S. */
void mcp_server_set_linger(struct mcp_server *server, unsigned seconds);

/* Serve a client on these fds (taken; may be the same). closed (may be NULL) is
 * called when it has disconnected. False: too many clients; the fds are
 * closed. */
bool mcp_server_add(struct mcp_server *server, int in_fd, int out_fd,
                    void (*closed)(void *opaque), void *opaque);
unsigned mcp_server_clients(const struct mcp_server *server);

/* Notify the subscribed clients: a resource has changed; the list of resources
 * has changed; a log message (data is borrowed). */
void mcp_server_resource_updated(struct mcp_server *server, const char *uri);
void mcp_server_resources_changed(struct mcp_server *server);
void mcp_server_log(struct mcp_server *server, const char *level,
                    const char *logger, json_t *data);

/* Iterate over the resources that clients have subscribed to. */
void mcp_server_each_subscribed(struct mcp_server *server,
                                void (*each)(const char *uri, void *opaque),
                                void *opaque);

#endif
