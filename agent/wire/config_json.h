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

/* Parse one folder: *ret_share has new strings (share_clear()) and borrows the
 * label. Fails with ERROR_MISSING_FIELD or ERROR_INVALID_FIELD. */
gboolean share_from_json(json_t *entry, struct session_share *ret_share,
                         GError **error);
void share_clear(struct session_share *share);

/* The inverse of config_from_json(), with all defaults spelled out. Returns a
 * new object. */
json_t *config_to_json(const struct session_config *config);

#endif
