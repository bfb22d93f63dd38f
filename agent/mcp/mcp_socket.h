/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_socket - the Unix socket on which an MCP server listens.
 */
#ifndef AGENT_MCP_MCP_SOCKET_H
#define AGENT_MCP_MCP_SOCKET_H

#include <glib.h>

#include "agent/mcp/mcp_server.h"

struct mcp_socket;

/* Listen at path (mode 0600). server is borrowed. On failure return NULL with
 * the errors of unix_socket_listen(). */
struct mcp_socket *mcp_socket_new(struct mcp_server *server, const char *path,
                                  GError **error);
/* Remove the socket; connected clients stay. NULL is allowed. */
void mcp_socket_free(struct mcp_socket *socket);

#endif
