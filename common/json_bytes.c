/* SPDX-License-Identifier: Apache-2.0
 *
 * json_bytes - see json_bytes.h.
 */
#include "common/json_bytes.h"

#include <string.h>

bool json_bytes_is_text(const void *data, size_t len)
{
    return g_utf8_validate_len(data, len, NULL) &&
           (len == 0 || memchr(data, 0, len) == NULL);
}

bool json_bytes_has_many_escapes(const void *data, size_t len)
{
    const unsigned char *bytes = data;
    size_t escapes = 0;

    for (size_t i = 0; i < len; i++)
        escapes += (bytes[i] < 32 && bytes[i] != '\n' && bytes[i] != '\t') ||
                   bytes[i] == 127;
    return escapes > len / 16;
}

static bool is_base64(json_t *object)
{
    const char *encoding = json_string_value(
        json_object_get(object, "encoding"));

    return encoding && strcmp(encoding, "base64") == 0;
}

void json_bytes_force_base64(json_t *object)
{
    json_object_set_new(object, "encoding", json_string("base64"));
}

void json_bytes_set(json_t *object, const char *key, const void *data,
                    size_t len)
{
    if (len == 0)
        data = ""; /* an empty GBytes has NULL, which json_stringn() rejects */
    if (!is_base64(object) && json_bytes_is_text(data, len)) {
        json_object_set_new(object, key, json_stringn(data, len));
        return;
    }
    g_autofree char *text = g_base64_encode(data, len);

    json_object_set_new(object, key, json_string(text));
    json_bytes_force_base64(object);
}

/* g_base64_decode() skips unknown characters; a peer's bytes must not silently
 * become other bytes, so check the alphabet and the padding. */
static bool is_valid_base64(const char *text, size_t len)
{
    size_t pad = 0;

    if (len % 4 != 0)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];

        if (c == '=') {
            pad++;
            if (i + 2 < len)
                return false;
        } else if (pad > 0 || !(g_ascii_isalnum(c) || c == '+' || c == '/')) {
            return false;
        }
    }
    return true;
}

char *json_bytes_get(json_t *object, const char *key, size_t *ret_len)
{
    json_t *member = json_object_get(object, key);
    size_t len = json_string_length(member);
    const char *text = json_string_value(member);
    gsize decoded_len = 0;

    if (!text)
        return NULL;
    if (!is_base64(object)) {
        if (ret_len)
            *ret_len = len;
        return g_strndup(text, len);
    }
    if (!is_valid_base64(text, len))
        return NULL;

    g_autofree guchar *decoded = g_base64_decode(text, &decoded_len);
    char *copy = g_malloc(decoded_len + 1);

    memcpy(copy, decoded, decoded_len);
    copy[decoded_len] = '\0';
    if (ret_len)
        *ret_len = decoded_len;
    return copy;
}

json_t *json_bytes_value(const char *key, const char *bytes)
{
    size_t len = strlen(bytes);
    json_t *object;

    if (json_bytes_is_text(bytes, len))
        return json_stringn(bytes, len);
    object = json_object();
    json_bytes_set(object, key, bytes, len);
    return object;
}

json_t *json_bytes_path(const char *path)
{
    return json_bytes_value("path", path);
}

char *json_bytes_get_path(json_t *value)
{
    return json_is_object(value) ? json_bytes_get(value, "path", NULL)
                                 : g_strdup(json_string_value(value));
}
