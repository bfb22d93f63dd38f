/* SPDX-License-Identifier: Apache-2.0
 *
 * http2_fields - a list of header fields of HTTP/2, with pseudo-header fields.
 *
 * Its size is that of RFC 9113, 6.5.2. nghttp2 has checked the names and values
 * of a received list: no control characters, names in lower case.
 */
#ifndef PROXY_HTTP2_FIELDS_H
#define PROXY_HTTP2_FIELDS_H

#include <glib.h>
#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP2_FIELDS_MAX = 64 << 10 };

struct http2_field {
    size_t name, name_len, value, value_len; /* offsets in text */
    uint8_t flags;                           /* enum nghttp2_nv_flag */
};

/* Zero at first. */
struct http2_fields {
    GString *text;
    GArray *list; /* struct http2_field */
    size_t size;
    bool is_too_long; /* fields were left out */
};

/* Add a field; in a list that becomes too long, set is_too_long instead. */
void http2_fields_add(struct http2_fields *fields, const char *name,
                      size_t name_len, const char *value, size_t value_len,
                      uint8_t flags);

/* Free the list and overwrite its texts. */
void http2_fields_clear(struct http2_fields *fields);

size_t http2_fields_count(const struct http2_fields *fields);

/* Return the i-th field. The texts end with a NUL and are valid until the next
 * change of the list. */
nghttp2_nv http2_fields_get(const struct http2_fields *fields, size_t i);

/* Return whether the list has the field. Set ret_value to the first one's value
 * and its length. */
bool http2_fields_find(const struct http2_fields *fields, const char *name,
                       const char **ret_value, size_t *ret_len);

/* Return all as a new array, for nghttp2; the texts are borrowed. */
nghttp2_nv *http2_fields_array(const struct http2_fields *fields);

/* The size of fields that are in such an array. */
size_t http2_fields_size(const nghttp2_nv *array, size_t count);

#endif
