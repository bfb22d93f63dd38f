/* SPDX-License-Identifier: Apache-2.0
 *
 * api_link - a client of a sandbox's API socket, for the command line.
 *
 * The connection is a control_link: the API has the same messages as the
 * control protocol.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_CLIENT_API_LINK_H
#define AGENT_CLIENT_API_LINK_H

#include <glib.h>
#include <jansson.h>

#include "agent/client/control_link.h"

/* Connect to a supervisor, and wait a little while its queue of new clients is
 * full. Free the link with control_link_free(). On failure return NULL with
 * ERROR_BACKEND_FAILED. */
struct control_link *
api_link_connect(const char *path,
                 const struct control_link_callbacks *callbacks, void *opaque,
                 GError **error);

/* Send a request (payload is taken; may be NULL) and run the main context until
 * it is answered. Return the payload: a new reference. On failure return NULL
 * with the supervisor's error, ERROR_BACKEND_FAILED (disconnected) or
 * ERROR_TIMEOUT. */
json_t *api_link_ask(struct control_link *link, const char *type,
                     json_t *payload, unsigned timeout_ms, GError **error);

/* The same as one connection. */
json_t *api_link_ask_once(const char *path, const char *type, json_t *payload,
                          unsigned timeout_ms, GError **error);

#endif
