/* SPDX-License-Identifier: Apache-2.0
 *
 * json_bytes - byte strings in JSON.
 *
 * A file name or a command's output may hold any byte, JSON only Unicode. So
 * bytes that are valid UTF-8 without NUL travel as they are, and others as
 * base64 with "encoding":"base64" beside them in the same object.
 */
#ifndef COMMON_JSON_BYTES_H
#define COMMON_JSON_BYTES_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* True if these bytes can be a JSON string: UTF-8 and no NUL. */
bool json_bytes_is_text(const void *data, size_t len);

/* Set object[key] to the bytes, and object["encoding"] if base64 was needed.
 * "encoding" speaks for every byte member of the object: where one of several
 * may need base64, set "encoding" first (json_bytes_force_base64()). */
void json_bytes_set(json_t *object, const char *key, const void *data,
                    size_t len);

/* Make this object's byte members base64. Call before json_bytes_set(). */
void json_bytes_force_base64(json_t *object);

/* Read object[key] back. A new NUL-terminated buffer (g_free) and its length;
 * NULL if the member is missing, not a string, or not valid base64. */
char *json_bytes_get(json_t *object, const char *key, size_t *ret_len);

/* A path as a value: a string, or {"path":...,"encoding":"base64"}. New. And
 * back: a new string, or NULL if it is neither. */
json_t *json_bytes_path(const char *path);
char *json_bytes_get_path(json_t *value);

#endif
