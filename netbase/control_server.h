/* SPDX-License-Identifier: Apache-2.0
 *
 * control_server - serves the supervisor's control channel of a process.
 *
 * JSON Lines on an inherited socket, in the format of message.h. Each request
 * has one answer, in order. Threads: that of the main loop.
 */
#ifndef NETBASE_CONTROL_SERVER_H
#define NETBASE_CONTROL_SERVER_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct control_server;

struct control_operation {
    const char *type; /* of the request */
    /* Return the answer's payload, or NULL with error set. payload: borrowed;
     * may be NULL. */
    json_t *(*carry_out)(void *opaque, json_t *payload, GError **error);
};

struct control_service {
    size_t line_max, queue_max; /* bytes of a request, of unsent answers */
    const struct control_operation *operations;
    unsigned count;
    /* The supervisor has closed the channel, or has exited. */
    void (*closed)(void *opaque);
    void *closed_opaque;
};

/* Takes fd. service is copied, its operations are borrowed; they get opaque. */
struct control_server *
control_server_new(int fd, const struct control_service *service, void *opaque);
void control_server_free(struct control_server *server);

/* Send an event (taken). Return false if the supervisor does not read, and the
 * event is dropped. */
bool control_server_send(struct control_server *server, const char *type,
                         json_t *payload);

#endif
