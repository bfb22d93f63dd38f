/* SPDX-License-Identifier: Apache-2.0
 *
 * directory_json - a session's working folder, with its grant, as JSON.
 */
#ifndef AGENT_WIRE_DIRECTORY_JSON_H
#define AGENT_WIRE_DIRECTORY_JSON_H

#include <jansson.h>

#include "agent/machine/session_directory.h"

/* One working folder of a session. Returns a new object. */
json_t *directory_to_json(const struct session_directory *directory);

/* A time (CLOCK_REALTIME, us) as ISO 8601. Returns a new value. */
json_t *time_to_json(gint64 us);

/* A path, or NULL. One that is not UTF-8 cannot be expressed here: null.
 * Returns a new value. */
json_t *directory_path_to_json(const char *path);

#endif
