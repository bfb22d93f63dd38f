/* SPDX-License-Identifier: Apache-2.0
 *
 * json_writer - see json_writer.h.
 */
#include "shim/json_writer.h"

#include <stdio.h>
#include <string.h>

#include "shim/utf8.h"

static void put(struct json_writer *writer, const char *bytes, size_t length)
{
    if (writer->overflow || length > (size_t)(writer->end - writer->at)) {
        writer->overflow = true;
        return;
    }
    memcpy(writer->at, bytes, length);
    writer->at += length;
}

static void put_name(struct json_writer *writer, const char *name)
{
    if (writer->at != writer->start + 1)
        put(writer, ",", 1);
    put(writer, "\"", 1);
    put(writer, name, strlen(name));
    put(writer, "\":", 2);
}

void json_writer_begin(struct json_writer *writer, char *room, size_t size)
{
    writer->start = writer->at = room;
    writer->end = room + size;
    writer->overflow = false;
    put(writer, "{", 1);
}

size_t json_writer_end(struct json_writer *writer)
{
    put(writer, "}\n", 2);
    return writer->overflow ? 0 : (size_t)(writer->at - writer->start);
}

void json_writer_integer(struct json_writer *writer, const char *name,
                         int64_t value)
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%lld", (long long)value);

    put_name(writer, name);
    put(writer, digits, (size_t)length);
}

/* The two-character escape of a control character, a quote or a backslash;
 * 0 if it has none. */
static char short_escape(unsigned char c)
{
    switch (c) {
    case '"':
    case '\\':
        return (char)c;
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    case '\b':
        return 'b';
    case '\f':
        return 'f';
    }
    return 0;
}

static void put_escape(struct json_writer *writer, unsigned char c)
{
    char escape[8] = { '\\', short_escape(c) };

    if (escape[1]) {
        put(writer, escape, 2);
        return;
    }
    snprintf(escape, sizeof(escape), "\\u%04x", c);
    put(writer, escape, 6);
}

void json_writer_text(struct json_writer *writer, const char *name,
                      const char *text, size_t length)
{
    size_t plain = 0; /* start of the run that needs no escape */

    put_name(writer, name);
    put(writer, "\"", 1);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        put(writer, text + plain, i - plain);
        put_escape(writer, c);
        plain = i + 1;
    }
    put(writer, text + plain, length - plain);
    put(writer, "\"", 1);
}

void json_writer_string(struct json_writer *writer, const char *name,
                        const char *value)
{
    char ascii[512];
    size_t length = strlen(value);

    if (utf8_valid(value, length)) {
        json_writer_text(writer, name, value, length);
        return;
    }
    if (length > sizeof(ascii))
        length = sizeof(ascii);
    for (size_t i = 0; i < length; i++)
        ascii[i] = (unsigned char)value[i] < 0x80 ? value[i] : '?';
    json_writer_text(writer, name, ascii, length);
}

void json_writer_base64(struct json_writer *writer, const char *name,
                        const char *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *in = (const unsigned char *)bytes;

    put_name(writer, name);
    put(writer, "\"", 1);
    for (size_t i = 0; i < length; i += 3) {
        size_t have = length - i < 3 ? length - i : 3;
        uint32_t group = (uint32_t)in[i] << 16 |
                         (have > 1 ? (uint32_t)in[i + 1] << 8 : 0) |
                         (have > 2 ? in[i + 2] : 0);
        char quad[4] = { digits[group >> 18], digits[group >> 12 & 63],
                         have > 1 ? digits[group >> 6 & 63] : '=',
                         have > 2 ? digits[group & 63] : '=' };

        put(writer, quad, 4);
    }
    put(writer, "\"", 1);
}
