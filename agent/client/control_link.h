/* SPDX-License-Identifier: Apache-2.0
 *
 * control_link - the client side of a daemon's control socket.
 *
 * Sends requests of the control protocol and matches the answers to them.
 * Answers may arrive in any order, with events in between.
 *
 * Threads: a link belongs to the thread that runs its GMainContext.
 */
#ifndef AGENT_CLIENT_CONTROL_LINK_H
#define AGENT_CLIENT_CONTROL_LINK_H

#include <glib.h>
#include <jansson.h>

struct control_link;

struct control_link_callbacks {
    /* An event; payload (borrowed) is an object. The callback may be NULL. */
    void (*event)(struct control_link *link, const char *type, json_t *payload,
                  void *opaque);
    /* The daemon closed the connection; waiting requests have failed before
     * this. Called once; the callback may free the link. */
    void (*closed)(struct control_link *link, void *opaque);
};

/* The answer to a request: payload, or error with payload NULL and optional
 * data. All arguments are borrowed. Called exactly once per request, from the
 * main loop or from control_link_free(). */
typedef void (*control_link_done)(json_t *payload, const GError *error,
                                  json_t *data, void *opaque);

/* Connect to a listening socket. On failure return NULL with
 * ERROR_BACKEND_FAILED. */
struct control_link *
control_link_connect(const char *path,
                     const struct control_link_callbacks *callbacks,
                     void *opaque, GError **error);

/* The same over a connected socket (taken). */
struct control_link *
control_link_new(int fd, const struct control_link_callbacks *callbacks,
                 void *opaque);

/* The same for a peer whose lines have at most line_max bytes. */
struct control_link *
control_link_new_bounded(int fd, size_t line_max,
                         const struct control_link_callbacks *callbacks,
                         void *opaque);

/* Name the peer in errors (a static noun with its article); the default is a
 * file system daemon. */
void control_link_name_peer(struct control_link *link, const char *peer);

/* Free the link; waiting requests fail first. NULL is allowed. */
void control_link_free(struct control_link *link);

/* Stop sending: waiting requests fail now, later ones fail from the main loop.
 * The closed callback is not called. NULL is allowed. */
void control_link_close(struct control_link *link);

/* Stop reading events and answers, or go on, as jsonl_channel_hold(). */
void control_link_hold(struct control_link *link, gboolean hold);

/* Send a request. payload (taken) may be NULL for {}. done may be NULL. A NULL
 * link counts as closed. */
void control_link_request(struct control_link *link, const char *type,
                          json_t *payload, control_link_done done,
                          void *opaque);

#endif
