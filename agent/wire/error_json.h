/* SPDX-License-Identifier: Apache-2.0
 *
 * error_json - an error as a member of an answer or an event.
 */
#ifndef AGENT_WIRE_ERROR_JSON_H
#define AGENT_WIRE_ERROR_JSON_H

#include <glib.h>
#include <jansson.h>

/* Return {"code","number","message"}, a new object. */
json_t *error_to_json(const GError *error);

#endif
