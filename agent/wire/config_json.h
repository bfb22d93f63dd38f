/* SPDX-License-Identifier: Apache-2.0
 *
 * config_json - a session's configuration as the payload of session.start
 * (man/stepback-api.7.scd).
 */
#ifndef AGENT_WIRE_CONFIG_JSON_H
#define AGENT_WIRE_CONFIG_JSON_H

#include <jansson.h>

#include "agent/machine/session_config.h"

/* Parse and validate a payload (borrowed). On failure return NULL with
 * ERROR_MISSING_FIELD, ERROR_INVALID_FIELD, ERROR_TOO_MANY_DIRECTORIES or
 * ERROR_INVALID_DIRECTORY. */
struct session_config *config_from_json(json_t *payload, GError **error);

/* The inverse, with all defaults spelled out. Returns a new object. */
json_t *config_to_json(const struct session_config *config);

#endif
