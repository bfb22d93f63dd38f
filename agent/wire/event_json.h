/* SPDX-License-Identifier: Apache-2.0
 *
 * event_json - convert session events to STDIO API messages.
 */
#ifndef AGENT_WIRE_EVENT_JSON_H
#define AGENT_WIRE_EVENT_JSON_H

#include <jansson.h>

#include "agent/session/session_events.h"

/* Return the message, or its payload alone: a new object. */
json_t *event_to_json(const struct session_event *event);
json_t *event_payload_to_json(const struct session_event *event);

/* Return the type of the event, "event.X". Borrowed. */
const char *event_name(const struct session_event *event);

/* Return the payload of event.warning: a new object. */
json_t *warning_to_json(const struct folder_warning *warning);

#endif
