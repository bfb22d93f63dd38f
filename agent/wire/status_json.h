/* SPDX-License-Identifier: Apache-2.0
 *
 * status_json - what a session says of itself, as JSON of the protocols.
 */
#ifndef AGENT_WIRE_STATUS_JSON_H
#define AGENT_WIRE_STATUS_JSON_H

#include <jansson.h>

#include "agent/session/session_events.h"

/* The answer to session.start: the state, and what is known of the machine. A
 * new object. */
json_t *session_to_json(const struct session_status *status);

/* The answer to session.status: also the running step and the counters. */
json_t *status_to_json(const struct session_status *status);

json_t *counters_to_json(const struct session_counters *counters);

#endif
