/* SPDX-License-Identifier: Apache-2.0
 *
 * bus_json - the rules of a sandbox for the session bus, as a list of texts.
 */
#ifndef AGENT_WIRE_BUS_JSON_H
#define AGENT_WIRE_BUS_JSON_H

#include <glib.h>
#include <jansson.h>

#include "agent/machine/session_config.h"

/* Read the member "session_bus" of a payload, which may be absent. */
gboolean bus_from_json(json_t *payload, struct session_config *config,
                       GError **error);

/* Add it, if there are rules. */
void bus_add_json(json_t *payload, const struct session_config *config);

#endif
