/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_service - Stepback as an MCP server: its tools and resources over a
 * session.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_MCP_MCP_SERVICE_H
#define AGENT_MCP_MCP_SERVICE_H

#include <jansson.h>

#include "agent/mcp/mcp_state.h"

/* host is borrowed for its life. grace_ms: how long a frontend has to decide on
 * a safeguard, before the word of an MCP client counts; 0: there is none. */
struct mcp_state *mcp_service_new(const struct mcp_host *host, void *opaque,
                                  unsigned grace_ms);

/* Leave the clients; their calls are cancelled. */
void mcp_service_close(struct mcp_state *service);
/* Commands that ran must have ended. NULL is allowed. */
void mcp_service_free(struct mcp_state *service);

struct mcp_server *mcp_service_server(struct mcp_state *service);

/* An event of the session. */
void mcp_service_take_event(struct mcp_state *service,
                            const struct session_event *event);

/* A session runs that did not, or none runs any more. */
void mcp_service_take_folders(struct mcp_state *service);

#endif
