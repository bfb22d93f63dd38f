/* SPDX-License-Identifier: Apache-2.0
 *
 * json_bytes - byte strings in JSON.
 *
 * A file name or a command's output may contain any byte, JSON only Unicode. So
 * bytes that are valid UTF-8 without NUL are passed unchanged, and others as
 * base64 with "encoding":"base64" beside them in the same object.
 */
#ifndef COMMON_JSON_BYTES_H
#define COMMON_JSON_BYTES_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Return whether these bytes can be a JSON string: UTF-8 and no NUL. */
bool json_bytes_is_text(const void *data, size_t len);

/* Set object[key] to the bytes, and object["encoding"] if base64 was needed.
 * "encoding" applies to every byte member of the object: if one of several may
 * need base64, set "encoding" first (json_bytes_force_base64()). */
void json_bytes_set(json_t *object, const char *key, const void *data,
                    size_t len);

/* Encode this object's byte members as base64. Call before json_bytes_set(). */
void json_bytes_force_base64(json_t *object);

/* Return whether base64 is the shorter form of these bytes: a control character
 * takes six bytes in JSON, base64 four bytes per three. */
bool json_bytes_has_many_escapes(const void *data, size_t len);

/* Decode object[key]. Return a new NUL-terminated buffer (g_free) and its
 * length; NULL if the member is missing, not a string, or not valid base64. */
char *json_bytes_get(json_t *object, const char *key, size_t *ret_len);

/* Convert bytes to a JSON value: a string, or {key:...,"encoding":"base64"}, a
 * new reference. */
json_t *json_bytes_value(const char *key, const char *bytes);

/* Convert a path to a JSON value: a string, or
 * {"path":...,"encoding":"base64"}, a new reference. json_bytes_get_path() is
 * the inverse: a new string, or NULL if the value is neither. */
json_t *json_bytes_path(const char *path);
char *json_bytes_get_path(json_t *value);

#endif
