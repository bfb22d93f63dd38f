/* SPDX-License-Identifier: Apache-2.0
 *
 * api_socket - the Unix socket on which a sandbox serves its API to many
 * clients.
 *
 * Each client is an api_client with an event filter. Only processes of this
 * user are served. A client that stops reading is disconnected when its queue
 * is full and an event that must not be dropped comes.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_STDIO_API_SOCKET_H
#define AGENT_STDIO_API_SOCKET_H

#include <glib.h>
#include <jansson.h>

#include "agent/session/session.h"

enum { API_SOCKET_MAX_CLIENTS = 64 };

struct api_socket;

struct api_socket_callbacks {
    /* Return the answer to sandbox.info: a new object. */
    json_t *(*describe)(void *opaque);
    /* Return the payload of event.ready, a new object. */
    json_t *(*greet)(void *opaque);
};

/* Listen at path (mode 0600) and serve the session (borrowed). callbacks is
 * borrowed. On failure return NULL with the errors of unix_socket_listen(). */
struct api_socket *api_socket_new(const char *path, struct session *session,
                                  const struct api_socket_callbacks *callbacks,
                                  void *opaque, GError **error);

/* Disconnect the clients, after a short time for what is queued, and remove the
 * socket. The session must still exist. NULL is allowed. */
void api_socket_free(struct api_socket *socket);

unsigned api_socket_clients(const struct api_socket *socket);

/* Return when a user (api_client_is_user()) was last connected, as monotonic
 * time; 0: never. */
gint64 api_socket_last_use(const struct api_socket *socket);

#endif
