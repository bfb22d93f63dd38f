/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_session - a session as the host of an MCP service.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_MCP_MCP_SESSION_H
#define AGENT_MCP_MCP_SESSION_H

#include "agent/mcp/mcp_service.h"
#include "agent/session/session.h"

struct mcp_session;

/* Serve a session (borrowed) that a frontend starts and stops. */
struct mcp_session *mcp_session_new(struct session *session);

/* Serve a session that has no frontend: it is started at once as payload (that
 * of session.start, borrowed) says, and again when it is needed and does not
 * run. Files can be read meanwhile. NULL and error: as session_request_parse().
 */
struct mcp_session *mcp_session_new_own(struct session *session,
                                        json_t *payload, GError **error);

/* Before session_free(): clients are left, and nothing is answered any more
 * but what session_free() answers. Then mcp_session_free(). */
void mcp_session_close(struct mcp_session *host);
void mcp_session_free(struct mcp_session *host);

struct mcp_server *mcp_session_server(struct mcp_session *host);

#endif
