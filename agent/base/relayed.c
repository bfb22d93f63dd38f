/* SPDX-License-Identifier: Apache-2.0
 *
 * relayed - see relayed.h.
 */
#include "agent/base/relayed.h"

#include <jansson.h>

struct json_t *relayed_ref(struct json_t *value)
{
    return json_incref(value);
}

void relayed_unref(struct json_t *value)
{
    json_decref(value);
}
