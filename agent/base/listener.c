/* SPDX-License-Identifier: Apache-2.0
 *
 * listener - see listener.h.
 */
#include "agent/base/listener.h"

#include <errno.h>
#include <glib-unix.h>
#include <sys/socket.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/unix_socket.h"

enum { RETRY_MS = 1000 };

struct listener {
    const char *component;
    listener_accept accept;
    void *opaque;
    char *path;
    int fd;
    guint source;
};

static gboolean on_client(int fd, GIOCondition condition, gpointer data);

static void watch(struct listener *listener)
{
    listener->source = g_unix_fd_add(listener->fd, G_IO_IN, on_client,
                                     listener);
}

static gboolean resume_accepting(gpointer data)
{
    watch(data);
    return G_SOURCE_REMOVE;
}

static gboolean on_client(int fd, GIOCondition condition, gpointer data)
{
    struct listener *listener = data;
    int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    int number = errno;

    if (client >= 0)
        listener->accept(client, listener->opaque);
    if (client >= 0 || number == EAGAIN || number == EINTR ||
        number == ECONNABORTED)
        return G_SOURCE_CONTINUE;
    /* No fds are left: an immediate retry would loop. */
    log_warn(listener->component, "cannot accept a client: %s",
             g_strerror(number));
    listener->source = g_timeout_add(RETRY_MS, resume_accepting, listener);
    return G_SOURCE_REMOVE;
}

struct listener *listener_new(const char *path, const char *component,
                              listener_accept accept, void *opaque,
                              GError **error)
{
    int fd = unix_socket_listen(path, error);
    struct listener *listener;

    if (fd < 0)
        return NULL;
    g_unix_set_fd_nonblocking(fd, TRUE, NULL);
    listener = g_new0(struct listener, 1);
    listener->component = component;
    listener->accept = accept;
    listener->opaque = opaque;
    listener->path = g_strdup(path);
    listener->fd = fd;
    watch(listener);
    return listener;
}

void listener_free(struct listener *listener)
{
    if (!listener)
        return;
    g_source_remove(listener->source);
    fd_close(&listener->fd);
    unix_socket_remove(listener->path);
    g_free(listener->path);
    g_free(listener);
}
