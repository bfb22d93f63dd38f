/* SPDX-License-Identifier: Apache-2.0
 *
 * payload - parse request members beyond those of message.h.
 */
#ifndef AGENT_WIRE_PAYLOAD_H
#define AGENT_WIRE_PAYLOAD_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "agent/base/folder_ref.h"
#include "agent/session/session.h"
#include "agent/session/undo_extent.h"

/* Read a string that may hold arbitrary bytes: text, or {KEY: base64,
 * "encoding": "base64"}. Returns a new string, or NULL if the value has neither
 * form or contains a NUL. */
char *payload_bytes(json_t *value, const char *key);

/* The same for a member that may be missing: *ret_bytes then keeps its value.
 * Fails with ERROR_INVALID_FIELD. */
gboolean payload_get_bytes(json_t *payload, const char *member, const char *key,
                           char **ret_bytes, GError **error);

/* Read the member "paths": one or more paths (a new array of char *). Fails
 * with ERROR_INVALID_FIELD, also if the member is missing. */
gboolean payload_get_paths(json_t *payload, GPtrArray **ret_paths,
                           GError **error);

/* Read steps, step_id and force. Fails with ERROR_INVALID_FIELD. */
gboolean payload_get_extent(json_t *payload, struct undo_extent *ret_extent,
                            GError **error);

/* Read the member "directory": an index, a label or a path. Borrowed from the
 * payload. A value of another form refers to no folder. */
struct folder_ref folder_from_json(json_t *payload);

/* Fails with ERROR_MISSING_FIELD. */
gboolean payload_check_has(json_t *payload, const char *member, GError **error);

/* Set ERROR_INVALID_FIELD for a malformed field. Always returns FALSE. */
gboolean payload_invalid(const char *member, const char *problem,
                         GError **error);

/* "step_id", ["first"], ["format"], ["paths"] of undo.diff. The request's paths
 * belong to *ret_paths, a new array, or NULL for all files. *ret_patch: the
 * answer is to be a patch. */
gboolean payload_get_diff(json_t *payload, struct patch_request *ret_request,
                          GPtrArray **ret_paths, bool *ret_patch,
                          GError **error);

#endif
