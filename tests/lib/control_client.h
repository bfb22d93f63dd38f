/* SPDX-License-Identifier: Apache-2.0
 *
 * control_client - a blocking client of the control protocol, for tests.
 */
#ifndef TESTS_CONTROL_CLIENT_H
#define TESTS_CONTROL_CLIENT_H

#include <glib.h>
#include <jansson.h>

struct control_client;

/* Takes a connected socket. */
struct control_client *control_client_new(int fd);
/* The same, connected to an engine's socket, which must listen. */
struct control_client *control_client_connect(const char *path);
void control_client_free(struct control_client *client);

/* Send a request (payload: taken, may be NULL) and wait for the reply: a new
 * payload, or NULL and error. Events that arrive meanwhile are queued. */
json_t *control_client_request(struct control_client *client, const char *type,
                               json_t *payload, GError **error);

/* Return the data of the last error, or NULL. Borrowed until the next request.
 */
json_t *control_client_error_data(struct control_client *client);

/* Return the payload of the first queued event of this type, or NULL. Borrowed.
 */
json_t *control_client_event(struct control_client *client, const char *type);

/* The same, but remove the event from the queue: a new reference, or NULL. */
json_t *control_client_take_event(struct control_client *client,
                                  const char *type);

/* Wait for an event of this type and remove it: its payload, new. */
json_t *control_client_wait_event(struct control_client *client,
                                  const char *type);

#endif
