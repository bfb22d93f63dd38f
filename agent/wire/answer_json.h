/* SPDX-License-Identifier: Apache-2.0
 *
 * answer_json - answers of a session, as payloads of the protocols.
 */
#ifndef AGENT_WIRE_ANSWER_JSON_H
#define AGENT_WIRE_ANSWER_JSON_H

#include <jansson.h>

#include "agent/base/reply.h"

/* answer may be NULL. A new reference; NULL: there is nothing to say. */
json_t *answer_to_json(const struct answer *answer);

#endif
