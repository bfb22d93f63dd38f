/* SPDX-License-Identifier: Apache-2.0
 *
 * payload - members of a request beyond those of message.h.
 */
#ifndef AGENT_WIRE_PAYLOAD_H
#define AGENT_WIRE_PAYLOAD_H

#include <glib.h>
#include <jansson.h>

/* Read a string that may be bytes: text, or {KEY: base64, "encoding":
 * "base64"}. A new string. NULL: it is neither, or has a NUL. */
char *payload_bytes(json_t *value, const char *key);

/* The same of a member, which may be missing: *ret_bytes keeps its value.
 * ERROR_INVALID_FIELD. */
gboolean payload_get_bytes(json_t *payload, const char *member, const char *key,
                           char **ret_bytes, GError **error);

/* ERROR_MISSING_FIELD. */
gboolean payload_check_has(json_t *payload, const char *member, GError **error);

/* ERROR_INVALID_FIELD, for a field that is not as it must be. FALSE. */
gboolean payload_invalid(const char *member, const char *problem,
                         GError **error);

#endif
