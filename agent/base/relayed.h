/* SPDX-License-Identifier: Apache-2.0
 *
 * relayed - JSON that passes through the session unread: answers and events of
 * engines and machines, for the layers above it.
 */
#ifndef AGENT_BASE_RELAYED_H
#define AGENT_BASE_RELAYED_H

struct json_t; /* of jansson.h */

/* Return the value, with one more reference. NULL is allowed. */
struct json_t *relayed_ref(struct json_t *value);
void relayed_unref(struct json_t *value);

#endif
