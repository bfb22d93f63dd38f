/* SPDX-License-Identifier: Apache-2.0
 *
 * settings_json - limits and rules, as the control protocol has them; the STDIO
 * API has the same form.
 */
#ifndef AGENT_CLIENT_SETTINGS_JSON_H
#define AGENT_CLIENT_SETTINGS_JSON_H

#include <jansson.h>

#include "agent/base/undo_settings.h"

/* Read the payload of "configure" or "safeguard.configure" (borrowed; NULL is
 * {}). ERROR_INVALID_FIELD. */
gboolean limits_from_json(json_t *payload, struct undo_limits *ret_limits,
                          GError **error);
gboolean rules_from_json(json_t *payload, struct safeguard_rules *ret_rules,
                         GError **error);

/* The other way. A new object. */
json_t *limits_to_json(const struct undo_limits *limits);
json_t *rules_to_json(const struct safeguard_rules *rules);

/* Read the member "external_modification_policy"; *ret_policy keeps its value
 * without one. ERROR_INVALID_FIELD. */
gboolean outside_policy_from_json(json_t *payload, int *ret_policy,
                                  GError **error);

#endif
