/* SPDX-License-Identifier: Apache-2.0
 *
 * wire_json - members, texts and bytes in the wire's JSON (wire.h).
 */
#ifndef SHIM_WIRE_JSON_H
#define SHIM_WIRE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A JSON string of len bytes takes at most six bytes for each, and quotes. */
#define WIRE_JSON_WORST(len) (6 * (len) + 2)

/* Parse a line that holds one value. Return a new reference, or NULL and the
 * problem. */
json_t *wire_parse(const char *line, size_t len, json_error_t *ret_error);

/* Read a member of this type. Return false, without changing *ret_value, if the
 * member is missing or of another type. A string that contains a NUL counts as
 * another type: commands, paths and names cannot contain one. */
bool wire_get_string(json_t *object, const char *key, const char **ret_value);
bool wire_get_integer(json_t *object, const char *key, int64_t *ret_value);
bool wire_get_bool(json_t *object, const char *key, bool *ret_value);

/* Return whether the value is a string without NUL. */
bool wire_is_text(json_t *value);

/* Return the text as a new string; bytes that are not UTF-8 become "?". */
json_t *wire_text(const char *text);

/* Add the bytes as a member: as text, or as base64 with "encoding". */
void wire_set_bytes(json_t *object, const char *key, const void *data,
                    size_t len);

/* Decode a base64 string. Return a new string, of any bytes, or NULL if the
 * value is not a string or not base64. */
json_t *wire_decode(json_t *value);

#endif
