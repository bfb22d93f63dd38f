/* SPDX-License-Identifier: Apache-2.0
 *
 * event_json - events of a session, as messages of the STDIO API.
 */
#ifndef AGENT_WIRE_EVENT_JSON_H
#define AGENT_WIRE_EVENT_JSON_H

#include <jansson.h>

#include "agent/session/session_events.h"

/* A new object. */
json_t *event_to_json(const struct session_event *event);

#endif
