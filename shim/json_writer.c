/* SPDX-License-Identifier: Apache-2.0
 *
 * json_writer - see json_writer.h.
 */
#include "shim/json_writer.h"

#include <string.h>

static void put(struct json_writer *writer, const char *bytes, size_t len)
{
    if (writer->overflow || len > writer->size - writer->len) {
        writer->overflow = true;
        return;
    }
    memcpy(writer->buf + writer->len, bytes, len);
    writer->len += len;
}

static void put_byte(struct json_writer *writer, char byte)
{
    put(writer, &byte, 1);
}

/* Escape the bytes that JSON requires, with the short form if there is one. DEL
 * and all bytes above it need no escape. */
static void put_escaped(struct json_writer *writer, unsigned char byte)
{
    static const char hex[] = "0123456789abcdef";
    static const char short_names[32] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't',
    };
    char escape[6] = { '\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15] };

    if (byte >= 0x20) { /* a quote or a backslash */
        escape[1] = (char)byte;
        put(writer, escape, 2);
    } else if (short_names[byte]) {
        escape[1] = short_names[byte];
        put(writer, escape, 2);
    } else {
        put(writer, escape, 6);
    }
}

static void put_string(struct json_writer *writer, const char *text, size_t len)
{
    size_t from = 0;

    put_byte(writer, '"');
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)text[i];

        if (byte >= 0x20 && byte != '"' && byte != '\\')
            continue;
        put(writer, text + from, i - from);
        put_escaped(writer, byte);
        from = i + 1;
    }
    put(writer, text + from, len - from);
    put_byte(writer, '"');
}

static void put_key(struct json_writer *writer, const char *key)
{
    if (writer->len > 1)
        put_byte(writer, ',');
    put_string(writer, key, strlen(key));
    put_byte(writer, ':');
}

void json_writer_begin(struct json_writer *writer, char *buf, size_t size)
{
    *writer = (struct json_writer){ .buf = buf, .size = size };
    put_byte(writer, '{');
}

void json_writer_add_string(struct json_writer *writer, const char *key,
                            const char *text)
{
    json_writer_add_text(writer, key, text, strlen(text));
}

void json_writer_add_text(struct json_writer *writer, const char *key,
                          const void *text, size_t len)
{
    put_key(writer, key);
    put_string(writer, text, len);
}

void json_writer_add_base64(struct json_writer *writer, const char *key,
                            const void *data, size_t len)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *bytes = data;

    put_key(writer, key);
    put_byte(writer, '"');
    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        uint32_t group = (uint32_t)bytes[i] << 16;
        char out[4];

        if (left > 1)
            group |= (uint32_t)bytes[i + 1] << 8;
        if (left > 2)
            group |= bytes[i + 2];
        out[0] = digits[group >> 18];
        out[1] = digits[group >> 12 & 63];
        out[2] = left > 1 ? digits[group >> 6 & 63] : '=';
        out[3] = left > 2 ? digits[group & 63] : '=';
        put(writer, out, sizeof(out));
    }
    put_byte(writer, '"');
}

void json_writer_add_integer(struct json_writer *writer, const char *key,
                             int64_t value)
{
    char digits[24];
    size_t at = sizeof(digits);
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;

    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (value < 0)
        digits[--at] = '-';
    put_key(writer, key);
    put(writer, digits + at, sizeof(digits) - at);
}

void json_writer_add_bool(struct json_writer *writer, const char *key,
                          bool value)
{
    const char *word = value ? "true" : "false";

    put_key(writer, key);
    put(writer, word, strlen(word));
}

bool json_writer_end(struct json_writer *writer)
{
    put_byte(writer, '}');
    return !writer->overflow;
}
