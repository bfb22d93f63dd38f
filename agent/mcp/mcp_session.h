/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_session - implement mcp_host with a session.
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

/* Build a session's configuration, or return NULL and error. */
typedef struct session_config *(*mcp_session_make_config)(const void *opaque,
                                                          GError **error);

/* Serve a session without a frontend: it is started at once, and again whenever
 * it is needed and not running. Files can be read in the meantime. make is
 * called for each start. Returns NULL and error if the first call of make
 * failed. */
struct mcp_session *mcp_session_new_own(struct session *session,
                                        mcp_session_make_config make,
                                        const void *opaque, GError **error);

/* Call before session_free(): disconnects the clients; afterwards only
 * session_free() answers requests. Then call mcp_session_free(). */
void mcp_session_close(struct mcp_session *host);
void mcp_session_free(struct mcp_session *host);

struct mcp_server *mcp_session_server(struct mcp_session *host);

#endif
