/* SPDX-License-Identifier: Apache-2.0
 *
 * json_reader - see json_reader.h.
 *
 * A recursive descent over [at, end); the depth is bounded, so is the stack.
 * Decoding in place is safe because no escape is shorter than the bytes that
 * it stands for, and the closing quote makes room for the NUL.
 */
#include "shim/json_reader.h"

#include <string.h>

#include "shim/utf8.h"

static bool fail(struct json_reader *reader, const char *error)
{
    reader->error = error;
    return false;
}

static void skip_space(struct json_reader *reader)
{
    while (reader->at < reader->end && memchr(" \t\r\n", *reader->at, 4))
        reader->at++;
}

static bool take(struct json_reader *reader, char c)
{
    if (reader->at == reader->end || *reader->at != c)
        return false;
    reader->at++;
    return true;
}

static struct json_node *add_node(struct json_reader *reader,
                                  enum json_kind kind)
{
    struct json_node *node;

    if (reader->count == JSON_READER_NODES) {
        fail(reader, "too many values");
        return NULL;
    }
    node = &reader->nodes[reader->count++];
    *node = (struct json_node){ .kind = kind, .next = reader->count };
    return node;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The four digits after \u. */
static bool take_hex4(struct json_reader *reader, uint32_t *ret_unit)
{
    uint32_t unit = 0;

    if (reader->end - reader->at < 4)
        return fail(reader, "a \\u escape is cut off");
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(*reader->at++);

        if (digit < 0)
            return fail(reader, "a \\u escape has a bad digit");
        unit = unit << 4 | (uint32_t)digit;
    }
    *ret_unit = unit;
    return true;
}

static char *put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xc0 | c >> 6);
        *out++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *out++ = (char)(0xe0 | c >> 12);
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    } else {
        *out++ = (char)(0xf0 | c >> 18);
        *out++ = (char)(0x80 | (c >> 12 & 0x3f));
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    }
    return out;
}

static bool take_unicode_escape(struct json_reader *reader, char **out)
{
    uint32_t c, low;

    if (!take_hex4(reader, &c))
        return false;
    if (c == 0)
        return fail(reader, "a string holds U+0000");
    if (c >= 0xd800 && c <= 0xdfff) {
        if (c > 0xdbff || !take(reader, '\\') || !take(reader, 'u'))
            return fail(reader, "a string holds a lone surrogate");
        if (!take_hex4(reader, &low))
            return false;
        if (low < 0xdc00 || low > 0xdfff)
            return fail(reader, "a string holds a lone surrogate");
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    *out = put_utf8(*out, c);
    return true;
}

static bool take_escape(struct json_reader *reader, char **out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *name;

    if (take(reader, 'u'))
        return take_unicode_escape(reader, out);
    if (reader->at == reader->end || *reader->at == '\0' ||
        !(name = strchr(names, *reader->at)))
        return fail(reader, "a string holds an unknown escape");
    reader->at++;
    *(*out)++ = values[name - names];
    return true;
}

/* After the opening quote. */
static bool take_string(struct json_reader *reader)
{
    struct json_node *node = add_node(reader, JSON_STRING);
    char *out = reader->at;

    if (!node)
        return false;
    node->string = out;
    while (reader->at < reader->end) {
        unsigned char c = (unsigned char)*reader->at++;

        if (c == '"') {
            *out = '\0';
            node->length = (size_t)(out - node->string);
            return true;
        }
        if (c < 0x20)
            return fail(reader, "a string holds a control character");
        if (c != '\\')
            *out++ = (char)c;
        else if (!take_escape(reader, &out))
            return false;
    }
    return fail(reader, "a string has no end");
}

static size_t take_digits(struct json_reader *reader)
{
    const char *start = reader->at;

    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9')
        reader->at++;
    return (size_t)(reader->at - start);
}

/* The digits as an integer; false if it does not fit. */
static bool to_integer(const char *digits, size_t count, bool negative,
                       int64_t *ret_value)
{
    int64_t value = 0;

    for (size_t i = 0; i < count; i++) {
        int digit = digits[i] - '0';

        if (__builtin_mul_overflow(value, (int64_t)10, &value) ||
            __builtin_sub_overflow(value, (int64_t)digit, &value))
            return false;
    }
    if (!negative && value == INT64_MIN)
        return false;
    *ret_value = negative ? value : -value;
    return true;
}

static bool take_number(struct json_reader *reader)
{
    bool negative = take(reader, '-'), whole = true;
    char *digits = reader->at;
    size_t count = take_digits(reader);
    struct json_node *node;

    if (count == 0 || (count > 1 && *digits == '0'))
        return fail(reader, "a value is neither JSON nor a number");
    if (take(reader, '.')) {
        whole = false;
        if (take_digits(reader) == 0)
            return fail(reader, "a number has no digit after its point");
    }
    if (take(reader, 'e') || take(reader, 'E')) {
        whole = false;
        if (!take(reader, '+'))
            take(reader, '-');
        if (take_digits(reader) == 0)
            return fail(reader, "a number has no digit in its exponent");
    }
    node = add_node(reader, JSON_OTHER_NUMBER);
    if (!node)
        return false;
    if (whole && to_integer(digits, count, negative, &node->integer))
        node->kind = JSON_INTEGER;
    return true;
}

static bool take_word(struct json_reader *reader)
{
    static const struct {
        const char *word;
        enum json_kind kind;
    } words[] = { { "null", JSON_NULL },
                  { "false", JSON_FALSE },
                  { "true", JSON_TRUE } };
    size_t left = (size_t)(reader->end - reader->at);

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t length = strlen(words[i].word);

        if (left >= length && memcmp(reader->at, words[i].word, length) == 0) {
            reader->at += length;
            return add_node(reader, words[i].kind) != NULL;
        }
    }
    return take_number(reader);
}

static bool take_value(struct json_reader *reader, int depth);

static bool take_name(struct json_reader *reader)
{
    skip_space(reader);
    if (!take(reader, '"'))
        return fail(reader, "a member of an object has no name");
    if (!take_string(reader))
        return false;
    skip_space(reader);
    return take(reader, ':') || fail(reader, "a name has no colon after it");
}

/* After the opening bracket. */
static bool take_members(struct json_reader *reader, struct json_node *node,
                         int depth)
{
    bool is_object = node->kind == JSON_OBJECT;
    char close = is_object ? '}' : ']';

    skip_space(reader);
    if (!take(reader, close)) {
        do {
            if ((is_object && !take_name(reader)) || !take_value(reader, depth))
                return false;
        } while (take(reader, ','));
        if (!take(reader, close))
            return fail(reader, is_object ? "an object has no end"
                                          : "an array has no end");
    }
    node->next = reader->count;
    return true;
}

static bool take_value(struct json_reader *reader, int depth)
{
    struct json_node *node;
    bool is_object, ok;

    skip_space(reader);
    if (reader->at == reader->end)
        return fail(reader, "a value is missing");
    if (take(reader, '"')) {
        ok = take_string(reader);
    } else if (*reader->at == '{' || *reader->at == '[') {
        is_object = *reader->at++ == '{';
        if (depth == JSON_READER_DEPTH)
            return fail(reader, "objects and arrays are nested too deep");
        node = add_node(reader, is_object ? JSON_OBJECT : JSON_ARRAY);
        ok = node && take_members(reader, node, depth + 1);
    } else {
        ok = take_word(reader);
    }
    skip_space(reader);
    return ok;
}

bool json_reader_parse(struct json_reader *reader, char *text, size_t length)
{
    reader->count = 0;
    reader->error = NULL;
    reader->at = text;
    reader->end = text + length;
    if (!utf8_valid(text, length))
        return fail(reader, "the text is not UTF-8");
    if (!take_value(reader, 0))
        return false;
    if (reader->at != reader->end)
        return fail(reader, "something follows the value");
    return true;
}

const struct json_node *json_reader_member(const struct json_reader *reader,
                                           const struct json_node *object,
                                           const char *name)
{
    uint32_t i;

    if (!object || object->kind != JSON_OBJECT)
        return NULL;
    i = (uint32_t)(object - reader->nodes) + 1;
    while (i < object->next) {
        const struct json_node *key = &reader->nodes[i];

        if (strcmp(key->string, name) == 0)
            return key + 1;
        i = reader->nodes[i + 1].next;
    }
    return NULL;
}

const char *json_reader_string(const struct json_reader *reader,
                               const struct json_node *object, const char *name)
{
    const struct json_node *node = json_reader_member(reader, object, name);

    return node && node->kind == JSON_STRING ? node->string : NULL;
}

bool json_reader_integer(const struct json_reader *reader,
                         const struct json_node *object, const char *name,
                         int64_t *ret_value)
{
    const struct json_node *node = json_reader_member(reader, object, name);

    if (!node || node->kind != JSON_INTEGER)
        return false;
    *ret_value = node->integer;
    return true;
}
