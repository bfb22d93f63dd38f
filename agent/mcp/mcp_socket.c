/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_socket - see mcp_socket.h.
 */
#include "agent/mcp/mcp_socket.h"

#include "common/log.h"

/* Implements listener_accept. */
static void serve(int fd, void *opaque)
{
    mcp_server_add(opaque, fd, fd, NULL, NULL);
}

struct listener *mcp_socket_new(struct mcp_server *server, const char *path,
                                GError **error)
{
    return listener_new(path, LOG_MCP, serve, server, error);
}
