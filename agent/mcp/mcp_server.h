/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_server - a server of the Model Context Protocol: its clients, and what
 * they can ask.
 *
 * The protocol's own methods are here (mcp_base.c); those of a service, which
 * are about tools and resources, are given by it as a table. So tests can serve
 * others over the same code.
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

/* service is borrowed for its life. */
struct mcp_server *mcp_server_new(const struct mcp_service *service,
                                  void *opaque);
/* Leave the clients, and cancel their calls. They get what is queued for them,
 * if they take it soon. */
void mcp_server_close(struct mcp_server *server);
void mcp_server_free(struct mcp_server *server);

/* How long clients that send no more get answers to what they had asked; from
 * the beginning MCP_SERVER_LINGER_S. */
void mcp_server_set_linger(struct mcp_server *server, unsigned seconds);

/* Serve a client on these fds (taken; may be one). closed (may be NULL) is
 * called when it is gone. False: there are too many, the fds are closed. */
bool mcp_server_add(struct mcp_server *server, int in_fd, int out_fd,
                    void (*closed)(void *opaque), void *opaque);
unsigned mcp_server_clients(const struct mcp_server *server);

/* Tell the clients that asked for it: a resource has changed; the list of
 * resources has; something happened (data is borrowed). */
void mcp_server_resource_updated(struct mcp_server *server, const char *uri);
void mcp_server_resources_changed(struct mcp_server *server);
void mcp_server_log(struct mcp_server *server, const char *level,
                    const char *logger, json_t *data);

/* Each resource that a client has subscribed to. */
void mcp_server_each_subscribed(struct mcp_server *server,
                                void (*each)(const char *uri, void *opaque),
                                void *opaque);

#endif
