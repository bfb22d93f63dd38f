/* SPDX-License-Identifier: Apache-2.0
 *
 * settings_json - limits and rules in the JSON of the control protocol, which
 * the STDIO API shares.
 */
#ifndef AGENT_CLIENT_SETTINGS_JSON_H
#define AGENT_CLIENT_SETTINGS_JSON_H

#include <jansson.h>

#include "agent/base/undo_settings.h"

/* Parse the payload of "configure" or "safeguard.configure" (borrowed; NULL
 * counts as {}). Fails with ERROR_INVALID_FIELD. */
gboolean limits_from_json(json_t *payload, struct undo_limits *ret_limits,
                          GError **error);
gboolean rules_from_json(json_t *payload, struct safeguard_rules *ret_rules,
                         GError **error);

/* Convert to JSON. Returns a new object. */
json_t *limits_to_json(const struct undo_limits *limits);
json_t *rules_to_json(const struct safeguard_rules *rules);

/* Read the member "external_modification_policy"; if it is missing, *ret_policy
 * keeps its value. Fails with ERROR_INVALID_FIELD. */
gboolean outside_policy_from_json(json_t *payload, int *ret_policy,
                                  GError **error);

#endif
