/* SPDX-License-Identifier: Apache-2.0
 *
 * answer_json - convert session answers to protocol payloads.
 */
#ifndef AGENT_WIRE_ANSWER_JSON_H
#define AGENT_WIRE_ANSWER_JSON_H

#include <jansson.h>

#include "agent/base/reply.h"

/* answer may be NULL. Returns a new reference, or NULL for an empty answer. */
json_t *answer_to_json(const struct answer *answer);

#endif
