/* SPDX-License-Identifier: Apache-2.0
 *
 * status_json - convert a session's status to protocol JSON.
 */
#ifndef AGENT_WIRE_STATUS_JSON_H
#define AGENT_WIRE_STATUS_JSON_H

#include <jansson.h>

#include "agent/session/session_events.h"

/* The answer to session.start: the state and the machine's properties. Returns
 * a new object. */
json_t *session_to_json(const struct session_status *status);

/* The answer to session.status: adds the running step and the counters. */
json_t *status_to_json(const struct session_status *status);

/* The answer to fs.status: the engine's, with what the session knows. Returns a
 * new object. */
json_t *folder_status_to_json(const struct folder_status *status);

json_t *counters_to_json(const struct session_counters *counters);

#endif
