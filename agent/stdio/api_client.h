/* SPDX-License-Identifier: Apache-2.0
 *
 * api_client - one client of the supervisor's API: JSON Lines on two fds, or on
 * one socket.
 *
 * See doc/design.md, 5.1. Each request gets exactly one response; events come
 * in between. A client that stops reading blocks nothing: output events are
 * dropped and counted, and its next requests are not read until it reads again.
 * A command that a client started goes on when the client is gone.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_STDIO_API_CLIENT_H
#define AGENT_STDIO_API_CLIENT_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "agent/session/session.h"

struct api_client;

struct api_client_callbacks {
    /* The client has closed its end. The callback may free the client. */
    void (*closed)(struct api_client *client, void *opaque);
    /* Return the answer to sandbox.info: a new object. NULL: the supervisor
     * serves no named sandbox. */
    json_t *(*describe)(void *opaque);
};

/* Serve a client, which gets all events of the session (borrowed). Takes both
 * fds, which may be the same socket. */
struct api_client *api_client_new(int in_fd, int out_fd,
                                  struct session *session,
                                  const struct api_client_callbacks *callbacks,
                                  void *opaque);

/* Serve one of many clients on a socket (taken). It gets the events of its own
 * steps and those that it subscribes to (event_filter.h), and is closed if it
 * reads too slowly for these. */
struct api_client *
api_client_new_filtered(int fd, struct session *session,
                        const struct api_client_callbacks *callbacks,
                        void *opaque);

/* Close the fds; responses that are not written yet are lost. The session must
 * still exist. NULL is allowed. */
void api_client_free(struct api_client *client);

/* Return whether the client does more than look at the sandbox's figures. One
 * that has not sent a request yet is a user until it looks at them. */
bool api_client_is_user(const struct api_client *client);

/* Queue a message (taken) that is no response. */
void api_client_send(struct api_client *client, json_t *message);

/* Write what is queued, blocking at most this long. */
void api_client_flush(struct api_client *client, int timeout_ms);

#endif
