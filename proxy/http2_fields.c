/* SPDX-License-Identifier: Apache-2.0
 *
 * http2_fields - see http2_fields.h.
 */
#include "proxy/http2_fields.h"

#include <string.h>

#include "common/wiped.h"

enum { FIELD_OVERHEAD = 32 }; /* RFC 9113, 6.5.2 */

static size_t put(GString *text, const char *part, size_t len)
{
    size_t at = text->len;

    wiped_append(text, part, len);
    wiped_append(text, "", 1);
    return at;
}

void http2_fields_add(struct http2_fields *fields, const char *name,
                      size_t name_len, const char *value, size_t value_len,
                      uint8_t flags)
{
    size_t size = name_len + value_len + FIELD_OVERHEAD;
    struct http2_field field = { 0, name_len, 0, value_len, flags };

    if (fields->is_too_long || size > HTTP2_FIELDS_MAX - fields->size) {
        fields->is_too_long = true;
        return;
    }
    if (!fields->list) {
        fields->list = g_array_new(FALSE, FALSE, sizeof(field));
        fields->text = g_string_new(NULL);
    }
    fields->size += size;
    field.name = put(fields->text, name, name_len);
    field.value = put(fields->text, value, value_len);
    g_array_append_val(fields->list, field);
}

void http2_fields_clear(struct http2_fields *fields)
{
    if (fields->list) {
        wiped_free(fields->text);
        g_array_free(fields->list, TRUE);
    }
    *fields = (struct http2_fields){ 0 };
}

size_t http2_fields_count(const struct http2_fields *fields)
{
    return fields->list ? fields->list->len : 0;
}

nghttp2_nv http2_fields_get(const struct http2_fields *fields, size_t i)
{
    struct http2_field field = g_array_index(fields->list, struct http2_field,
                                             i);
    uint8_t *text = (uint8_t *)fields->text->str;

    return (nghttp2_nv){ text + field.name, text + field.value, field.name_len,
                         field.value_len, field.flags };
}

bool http2_fields_find(const struct http2_fields *fields, const char *name,
                       const char **ret_value, size_t *ret_len)
{
    for (size_t i = 0; i < http2_fields_count(fields); i++) {
        nghttp2_nv field = http2_fields_get(fields, i);

        if (strcmp((const char *)field.name, name) == 0) {
            *ret_value = (const char *)field.value;
            *ret_len = field.valuelen;
            return true;
        }
    }
    return false;
}

nghttp2_nv *http2_fields_array(const struct http2_fields *fields)
{
    size_t count = http2_fields_count(fields);
    nghttp2_nv *array = g_new(nghttp2_nv, count);

    for (size_t i = 0; i < count; i++)
        array[i] = http2_fields_get(fields, i);
    return array;
}

size_t http2_fields_size(const nghttp2_nv *array, size_t count)
{
    size_t size = 0;

    for (size_t i = 0; i < count; i++)
        size += array[i].namelen + array[i].valuelen + FIELD_OVERHEAD;
    return size;
}
