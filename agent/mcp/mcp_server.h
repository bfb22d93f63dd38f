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

#include "agent/mcp/mcp_call.h"

/* In which era a method is there. */
enum mcp_eras { MCP_LEGACY = 1, MCP_STATELESS = 2, MCP_BOTH = 3 };

struct mcp_method {
    const char *name; /* NULL ends a table */
    enum mcp_eras eras;
    void (*handle)(struct mcp_call *call);
};

struct mcp_service {
    const char *name, *title, *version, *description, *instructions;
    /* What the service can: a new object, without "logging". */
    json_t *(*capabilities)(enum mcp_version version);
    const struct mcp_method *methods;
};

enum {
    MCP_SERVER_MAX_CLIENTS = 16,
    MCP_SERVER_MAX_PARKED = 32,
    MCP_SERVER_LINGER_S = 600,
};

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
unsigned mcp_server_linger(const struct mcp_server *server);

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

/* ---- for calls and connections ------------------------------------------- */

void *mcp_server_opaque(const struct mcp_server *server);
const struct mcp_service *mcp_server_service(const struct mcp_server *server);
/* Name and version; a new object. */
json_t *mcp_server_describe(const struct mcp_server *server,
                            enum mcp_version version);

const struct mcp_method *mcp_server_find_method(const struct mcp_server *server,
                                                const char *name, bool modern);
/* Methods that tell the era of a client. */
bool mcp_server_is_modern_only(const char *method);
bool mcp_server_is_opening(const char *method);

/* Keep a call until it is repeated: its token, a new string; NULL: there are
 * too many. */
char *mcp_server_park(struct mcp_server *server, struct mcp_call *call);
void mcp_server_unpark(struct mcp_server *server, const char *token);
/* token may be NULL. */
struct mcp_call *mcp_server_find_parked(const struct mcp_server *server,
                                        const char *token);

/* mcp_base.c: the protocol's own methods. */
extern const struct mcp_method mcp_base_methods[];

#endif
