/* SPDX-License-Identifier: Apache-2.0
 *
 * event_filter - the events that a client of the API gets.
 *
 * The frontend on stdio gets all events. A client of a socket gets those of the
 * steps that it started, and the types that it subscribed to.
 */
#ifndef AGENT_STDIO_EVENT_FILTER_H
#define AGENT_STDIO_EVENT_FILTER_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "agent/session/session_events.h"

struct event_filter;

/* owner: the commands' member of that name, by which the filter knows the
 * client's own steps. all: let every event pass. */
struct event_filter *event_filter_new(const void *owner, bool all);
void event_filter_free(struct event_filter *filter);

/* Return whether the client gets this event, whose message is
 * event_to_json()'s. */
bool event_filter_wants(struct event_filter *filter,
                        const struct session_event *event, json_t *message);

/* Replace the subscribed types by the payload's "types" (borrowed), of which
 * "*" is all. Fails with ERROR_MISSING_FIELD or ERROR_INVALID_FIELD. */
gboolean event_filter_subscribe(struct event_filter *filter, json_t *payload,
                                GError **error);

/* Return whether the client gets all events of the type. */
bool event_filter_has(const struct event_filter *filter, const char *type);

#endif
