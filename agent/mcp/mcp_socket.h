/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_socket - the Unix socket on which an MCP server listens.
 */
#ifndef AGENT_MCP_MCP_SOCKET_H
#define AGENT_MCP_MCP_SOCKET_H

#include <glib.h>

#include "agent/base/listener.h"
#include "agent/mcp/mcp_server.h"

/* Listen at path (mode 0600). server is borrowed. Free with listener_free(). On
 * failure return NULL with the errors of unix_socket_listen(). */
struct listener *mcp_socket_new(struct mcp_server *server, const char *path,
                                GError **error);

#endif
