/* SPDX-License-Identifier: Apache-2.0
 *
 * payload - members of a request beyond those of message.h.
 */
#ifndef AGENT_WIRE_PAYLOAD_H
#define AGENT_WIRE_PAYLOAD_H

#include <glib.h>
#include <jansson.h>

#include "agent/base/folder_ref.h"
#include "agent/session/undo_extent.h"

/* Read a string that may be bytes: text, or {KEY: base64, "encoding":
 * "base64"}. A new string. NULL: it is neither, or has a NUL. */
char *payload_bytes(json_t *value, const char *key);

/* The same of a member, which may be missing: *ret_bytes keeps its value.
 * ERROR_INVALID_FIELD. */
gboolean payload_get_bytes(json_t *payload, const char *member, const char *key,
                           char **ret_bytes, GError **error);

/* Read the member "paths": one path or more (a new array of char *). FALSE and
 * error: ERROR_INVALID_FIELD, also if it is missing. */
gboolean payload_get_paths(json_t *payload, GPtrArray **ret_paths,
                           GError **error);

/* Read steps, step_id and force. ERROR_INVALID_FIELD. */
gboolean payload_get_extent(json_t *payload, struct undo_extent *ret_extent,
                            GError **error);

/* Read the member "directory": an index, a label or a path. Borrowed from the
 * payload. What is none of these names no folder. */
struct folder_ref folder_from_json(json_t *payload);

/* ERROR_MISSING_FIELD. */
gboolean payload_check_has(json_t *payload, const char *member, GError **error);

/* ERROR_INVALID_FIELD, for a field that is not as it must be. FALSE. */
gboolean payload_invalid(const char *member, const char *problem,
                         GError **error);

#endif
