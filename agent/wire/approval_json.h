/* SPDX-License-Identifier: Apache-2.0
 *
 * approval_json - requests for a user's decision, and the answers, as JSON of
 * the API.
 */
#ifndef AGENT_WIRE_APPROVAL_JSON_H
#define AGENT_WIRE_APPROVAL_JSON_H

#include <glib.h>
#include <jansson.h>

#include "agent/session/session_grants.h"

/* Each returns a new object. */
json_t *approval_to_json(const struct approval *approval);
json_t *approvals_to_json(const struct session *session);

/* Read grant.request. Borrowed from the payload, but for *ret_path, a new
 * string. */
gboolean grant_request_from_json(json_t *payload,
                                 struct grant_request *ret_request,
                                 char **ret_path, GError **error);

/* Read approval.decide, in the same way; *ret_path may be NULL. */
gboolean decision_from_json(json_t *payload,
                            struct approval_decision *ret_decision,
                            char **ret_path, GError **error);

#endif
