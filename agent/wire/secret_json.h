/* SPDX-License-Identifier: Apache-2.0
 *
 * secret_json - the secrets of a session as JSON, without their values:
 *
 *     [{"name":"TOKEN", "value_from":"env:TOKEN", "hosts":["api.example.org"],
 *       "headers":["authorization"]}]
 */
#ifndef AGENT_WIRE_SECRET_JSON_H
#define AGENT_WIRE_SECRET_JSON_H

#include <jansson.h>

#include "agent/machine/secret.h"

/* Add the secrets of a list (borrowed; NULL: none). Fails with
 * ERROR_INVALID_FIELD. */
gboolean secrets_from_json(json_t *value, GPtrArray *list, GError **error);

/* The inverse. Returns a new list. */
json_t *secrets_to_json(const GPtrArray *list);

#endif
