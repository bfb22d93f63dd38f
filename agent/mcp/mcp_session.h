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

/* Make a session's configuration. NULL and error. */
typedef struct session_config *(*mcp_session_make_config)(const void *opaque,
                                                          GError **error);

/* Serve a session that has no frontend: it is started at once, and again when
 * it is needed and does not run. Files can be read meanwhile. make is called
 * for each start. NULL and error: it was, and failed. */
struct mcp_session *mcp_session_new_own(struct session *session,
                                        mcp_session_make_config make,
                                        const void *opaque, GError **error);

/* Before session_free(): clients are left, and nothing is answered any more
 * but what session_free() answers. Then mcp_session_free(). */
void mcp_session_close(struct mcp_session *host);
void mcp_session_free(struct mcp_session *host);

struct mcp_server *mcp_session_server(struct mcp_session *host);

#endif
