/* SPDX-License-Identifier: Apache-2.0
 *
 * wire_json - see wire_json.h.
 */
#include "shim/wire_json.h"

#include <stdlib.h>
#include <string.h>

#include "shim/utf8.h"
#include "shim/wire.h"

json_t *wire_parse(const char *line, size_t len, json_error_t *ret_error)
{
    return json_loadb(line, len,
                      JSON_ALLOW_NUL | JSON_DECODE_ANY | JSON_REJECT_DUPLICATES,
                      ret_error);
}

/* ---- members ------------------------------------------------------------- */

bool wire_is_text(json_t *value)
{
    return json_is_string(value) &&
           !memchr(json_string_value(value), '\0', json_string_length(value));
}

bool wire_get_string(json_t *object, const char *key, const char **ret_value)
{
    json_t *member = json_object_get(object, key);

    if (!wire_is_text(member))
        return false;
    *ret_value = json_string_value(member);
    return true;
}

bool wire_get_integer(json_t *object, const char *key, int64_t *ret_value)
{
    json_t *member = json_object_get(object, key);

    if (!json_is_integer(member))
        return false;
    *ret_value = json_integer_value(member);
    return true;
}

bool wire_get_bool(json_t *object, const char *key, bool *ret_value)
{
    json_t *member = json_object_get(object, key);

    if (!json_is_boolean(member))
        return false;
    *ret_value = json_is_true(member);
    return true;
}

/* ---- texts and bytes ----------------------------------------------------- */

json_t *wire_text(const char *text)
{
    size_t len = strlen(text);
    json_t *value = json_stringn(text, len);
    char *copy;

    if (value || !(copy = strdup(text)))
        return value;
    for (size_t i = 0; i < len;) {
        int length = utf8_measure(copy + i, len - i);

        if (length <= 0)
            copy[i] = '?';
        i += length > 0 ? (size_t)length : 1;
    }
    value = json_stringn(copy, len);
    free(copy);
    return value;
}

static json_t *encode(const unsigned char *bytes, size_t len)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t size = (len + 2) / 3 * 4;
    char *text = malloc(size + 1), *out = text;
    json_t *value;

    for (size_t i = 0; text && i < len; i += 3) {
        size_t left = len - i;
        uint32_t group = (uint32_t)bytes[i] << 16;

        if (left > 1)
            group |= (uint32_t)bytes[i + 1] << 8;
        if (left > 2)
            group |= bytes[i + 2];
        *out++ = digits[group >> 18];
        *out++ = digits[group >> 12 & 63];
        *out++ = left > 1 ? digits[group >> 6 & 63] : '=';
        *out++ = left > 2 ? digits[group & 63] : '=';
    }
    value = text ? json_stringn_nocheck(text, size) : NULL;
    free(text);
    return value;
}

void wire_set_bytes(json_t *object, const char *key, const void *data,
                    size_t len)
{
    json_t *text = memchr(data, '\0', len) ? NULL : json_stringn(data, len);

    if (!text)
        json_object_set_new(object, "encoding",
                            json_string(WIRE_ENCODING_BASE64));
    json_object_set_new(object, key, text ? text : encode(data, len));
}

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

json_t *wire_decode(json_t *value)
{
    const char *text = json_string_value(value);
    size_t digits = json_string_length(value), len = 0;
    uint32_t bits = 0;
    json_t *decoded;
    char *bytes;
    int digit = 0;

    if (!text || digits % 4 != 0 || !(bytes = malloc(digits + 1)))
        return NULL;
    for (int i = 0; i < 2 && digits > 0 && text[digits - 1] == '='; i++)
        digits--;
    for (size_t i = 0; i < digits && digit >= 0; i++) {
        digit = base64_digit(text[i]);
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 > 0)
            bytes[len++] = (char)(bits >> (6 - i % 4 * 2));
    }
    decoded = digit >= 0 ? json_stringn_nocheck(bytes, len) : NULL;
    free(bytes);
    return decoded;
}
