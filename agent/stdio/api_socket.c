/* SPDX-License-Identifier: Apache-2.0
 *
 * api_socket - see api_socket.h.
 */
#include "agent/stdio/api_socket.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/listener.h"
#include "agent/stdio/api_client.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/message.h"

enum {
    FLUSH_ALL_MS = 1000, /* at the end, for all clients together */
};

struct api_socket {
    struct session *session;
    const struct api_socket_callbacks *callbacks;
    void *opaque;
    struct listener *listener;
    GPtrArray *clients; /* of struct api_client */
    gint64 last_use;    /* of clients that are gone; 0: never */
};

/* ---- clients ------------------------------------------------------------- */

static void on_closed(struct api_client *client, void *opaque)
{
    struct api_socket *socket = opaque;

    if (api_client_is_user(client))
        socket->last_use = g_get_monotonic_time();
    g_ptr_array_remove_fast(socket->clients, client);
    api_client_free(client);
}

static json_t *describe(void *opaque)
{
    struct api_socket *socket = opaque;

    return socket->callbacks->describe(socket->opaque);
}

static const struct api_client_callbacks client_callbacks = {
    .closed = on_closed,
    .describe = describe,
};

static bool is_own_user(int fd)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
           peer.uid == geteuid();
}

/* Tell a client why it is not served, if it has room for that. Takes the fd. */
static void refuse(int fd, enum error_code code, const char *why)
{
    json_t *message = message_error(NULL, code, why, NULL);
    char *text = json_dumps(message, JSON_COMPACT);
    g_autofree char *line = g_strdup_printf("%s\n", text);

    log_warn(LOG_STDIO_API, "client refused: %s", why);
    if (send(fd, line, strlen(line), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        log_debug(LOG_STDIO_API, "the refused client does not read");
    free(text);
    json_decref(message);
    fd_close(&fd);
}

/* Implements listener_accept. */
static void serve(int fd, void *opaque)
{
    struct api_socket *socket = opaque;
    struct api_client *client;

    if (!is_own_user(fd)) {
        refuse(fd, ERROR_DENIED, "the socket serves processes of its own user");
        return;
    }
    if (socket->clients->len >= API_SOCKET_MAX_CLIENTS) {
        refuse(fd, ERROR_BUSY,
               "too many clients are connected; disconnect one");
        return;
    }
    client = api_client_new_filtered(fd, socket->session, &client_callbacks,
                                     socket);
    g_ptr_array_add(socket->clients, client);
    api_client_send(
        client,
        message_event("event.ready", socket->callbacks->greet(socket->opaque)));
}

/* ---- life ---------------------------------------------------------------- */

struct api_socket *api_socket_new(const char *path, struct session *session,
                                  const struct api_socket_callbacks *callbacks,
                                  void *opaque, GError **error)
{
    struct api_socket *socket = g_new0(struct api_socket, 1);

    socket->listener = listener_new(path, LOG_STDIO_API, serve, socket, error);
    if (!socket->listener) {
        g_free(socket);
        return NULL;
    }
    socket->session = session;
    socket->callbacks = callbacks;
    socket->opaque = opaque;
    socket->clients = g_ptr_array_new();
    return socket;
}

void api_socket_free(struct api_socket *socket)
{
    gint64 end = g_get_monotonic_time() + FLUSH_ALL_MS * 1000;

    if (!socket)
        return;
    listener_free(socket->listener);
    for (guint i = 0; i < socket->clients->len; i++) {
        gint64 left = (end - g_get_monotonic_time()) / 1000;

        api_client_flush(socket->clients->pdata[i], (int)MAX(left, 0));
        api_client_free(socket->clients->pdata[i]);
    }
    g_ptr_array_unref(socket->clients);
    g_free(socket);
}

gint64 api_socket_last_use(const struct api_socket *socket)
{
    for (guint i = 0; i < socket->clients->len; i++) {
        if (api_client_is_user(socket->clients->pdata[i]))
            return g_get_monotonic_time();
    }
    return socket->last_use;
}

unsigned api_socket_clients(const struct api_socket *socket)
{
    return socket->clients->len;
}
