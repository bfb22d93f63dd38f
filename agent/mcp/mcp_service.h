/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_service - Stepback's MCP service: tools and resources over a session.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_MCP_MCP_SERVICE_H
#define AGENT_MCP_MCP_SERVICE_H

#include <jansson.h>

#include "agent/mcp/mcp_state.h"

/* host is borrowed for the service's life. grace_ms: how long a frontend may
 * decide on a safeguard before the answer of an MCP client counts; 0: no
 * frontend. */
struct mcp_state *mcp_service_new(const struct mcp_host *host, void *opaque,
                                  unsigned grace_ms);

/* Disconnect the clients; their calls are cancelled. */
void mcp_service_close(struct mcp_state *service);
/* Running commands must have ended. NULL is allowed. */
void mcp_service_free(struct mcp_state *service);

struct mcp_server *mcp_service_server(struct mcp_state *service);

/* An event of the session. */
void mcp_service_take_event(struct mcp_state *service,
                            const struct session_event *event);

/* A session has started or ended. */
void mcp_service_take_folders(struct mcp_state *service);

#endif
