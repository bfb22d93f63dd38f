/* SPDX-License-Identifier: Apache-2.0
 *
 * git_json - the author of commits in the protocols: the member "git_identity".
 */
#ifndef AGENT_WIRE_GIT_JSON_H
#define AGENT_WIRE_GIT_JSON_H

#include <jansson.h>

#include "agent/machine/git_identity.h"

/* Set the members of ret_git that the payload has (new strings).
 * ERROR_INVALID_FIELD. */
gboolean git_from_json(json_t *payload, struct git_identity *ret_git,
                       GError **error);

/* Set the member, unless there is no author. */
void git_add_json(json_t *payload, const struct git_identity *git);

#endif
