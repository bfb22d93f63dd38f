/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_socket - see mcp_socket.h.
 */
#include "agent/mcp/mcp_socket.h"

#include <errno.h>
#include <glib-unix.h>
#include <sys/socket.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/unix_socket.h"

enum { RETRY_MS = 1000 };

struct mcp_socket {
    struct mcp_server *server;
    char *path;
    int fd;
    guint source;
};

static gboolean on_client(int fd, GIOCondition condition, gpointer data);

static void listen_on(struct mcp_socket *socket)
{
    socket->source = g_unix_fd_add(socket->fd, G_IO_IN, on_client, socket);
}

static gboolean resume_accepting(gpointer data)
{
    listen_on(data);
    return G_SOURCE_REMOVE;
}

static gboolean on_client(int fd, GIOCondition condition, gpointer data)
{
    struct mcp_socket *socket = data;
    int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

    if (client >= 0)
        mcp_server_add(socket->server, client, client, NULL, NULL);
    if (client >= 0 || errno == EAGAIN || errno == EINTR ||
        errno == ECONNABORTED)
        return G_SOURCE_CONTINUE;
    /* No fds are left: an immediate retry would loop. */
    log_warn(LOG_MCP, "cannot accept a client: %s", g_strerror(errno));
    socket->source = g_timeout_add(RETRY_MS, resume_accepting, socket);
    return G_SOURCE_REMOVE;
}

struct mcp_socket *mcp_socket_new(struct mcp_server *server, const char *path,
                                  GError **error)
{
    int fd = unix_socket_listen(path, error);
    struct mcp_socket *socket;

    if (fd < 0)
        return NULL;
    g_unix_set_fd_nonblocking(fd, TRUE, NULL);
    socket = g_new0(struct mcp_socket, 1);
    socket->server = server;
    socket->path = g_strdup(path);
    socket->fd = fd;
    listen_on(socket);
    return socket;
}

void mcp_socket_free(struct mcp_socket *socket)
{
    if (!socket)
        return;
    g_source_remove(socket->source);
    fd_close(&socket->fd);
    unix_socket_remove(socket->path);
    g_free(socket->path);
    g_free(socket);
}
