/* SPDX-License-Identifier: Apache-2.0
 *
 * json_reader - see json_reader.h.
 */
#include "shim/json_reader.h"

#include <stdint.h>
#include <string.h>

#include "shim/utf8.h"

static bool read_value(struct json_reader *reader, struct json_value *value,
                       int depth);

static bool fail(struct json_reader *reader, const char *error)
{
    if (!reader->error)
        reader->error = error;
    return false;
}

static void skip_blanks(struct json_reader *reader)
{
    while (reader->at < reader->end &&
           (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\n' ||
            *reader->at == '\r'))
        reader->at++;
}

/* Return the next byte, or NUL at the end. A NUL in the text matches no grammar
 * rule, so both cases can be treated alike. */
static char peek(const struct json_reader *reader)
{
    return reader->at < reader->end ? *reader->at : '\0';
}

static bool take(struct json_reader *reader, char expected)
{
    if (peek(reader) != expected)
        return false;
    reader->at++;
    return true;
}

static struct json_value *value_new(struct json_reader *reader)
{
    struct json_value *value;

    if (reader->count == JSON_READER_MAX_VALUES) {
        fail(reader, "too many values");
        return NULL;
    }
    value = &reader->values[reader->count++];
    *value = (struct json_value){ 0 };
    return value;
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

static bool read_hex4(struct json_reader *reader, uint32_t *ret_unit)
{
    uint32_t unit = 0;

    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(peek(reader));

        if (digit < 0)
            return fail(reader, "bad \\u escape");
        unit = unit << 4 | (uint32_t)digit;
        reader->at++;
    }
    *ret_unit = unit;
    return true;
}

static char *put_utf8(char *out, uint32_t code)
{
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xc0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *out++ = (char)(0xe0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    } else {
        *out++ = (char)(0xf0 | code >> 18);
        *out++ = (char)(0x80 | (code >> 12 & 0x3f));
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    }
    return out;
}

/* After "\u": parse one code unit, or a surrogate pair. */
static bool read_unicode(struct json_reader *reader, char **out)
{
    uint32_t code, low;

    if (!read_hex4(reader, &code))
        return false;
    if (code >= 0xdc00 && code <= 0xdfff)
        return fail(reader, "lone surrogate");
    if (code >= 0xd800 && code <= 0xdbff) {
        if (!take(reader, '\\') || !take(reader, 'u'))
            return fail(reader, "lone surrogate");
        if (!read_hex4(reader, &low))
            return false;
        if (low < 0xdc00 || low > 0xdfff)
            return fail(reader, "lone surrogate");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    *out = put_utf8(*out, code);
    return true;
}

static bool read_escape(struct json_reader *reader, char **out)
{
    static const char names[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    char c = peek(reader);
    const char *found;

    if (c == '\0')
        return fail(reader, "unterminated string");
    reader->at++;
    if (c == 'u')
        return read_unicode(reader, out);
    found = strchr(names, c);
    if (!found)
        return fail(reader, "bad escape");
    *(*out)++ = meanings[found - names];
    return true;
}

/* Parse a string after its opening quote. */
static bool read_string(struct json_reader *reader, const char **ret_text,
                        size_t *ret_len)
{
    char *start = reader->at, *out = start;

    while (reader->at < reader->end) {
        unsigned char c = (unsigned char)*reader->at;
        int length;

        if (c == '"') {
            reader->at++;
            *out = '\0';
            *ret_text = start;
            *ret_len = (size_t)(out - start);
            return true;
        }
        if (c < 0x20)
            return fail(reader, "control character in a string");
        if (c == '\\') {
            reader->at++;
            if (!read_escape(reader, &out))
                return false;
            continue;
        }
        length = utf8_measure(reader->at, (size_t)(reader->end - reader->at));
        if (length <= 0)
            return fail(reader, "not UTF-8");
        for (; length > 0; length--)
            *out++ = *reader->at++;
    }
    return fail(reader, "unterminated string");
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool skip_digits(struct json_reader *reader)
{
    if (!is_digit(peek(reader)))
        return fail(reader, "bad number");
    while (is_digit(peek(reader)))
        reader->at++;
    return true;
}

/* Accumulate the digits downwards, because the smallest integer has no positive
 * counterpart. */
static void set_integer(struct json_value *value, const char *digits,
                        const char *end, bool negative)
{
    int64_t sum = 0;

    for (; digits < end; digits++) {
        if (__builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_sub_overflow(sum, *digits - '0', &sum))
            return;
    }
    if (!negative && __builtin_sub_overflow((int64_t)0, sum, &sum))
        return;
    value->integer = sum;
    value->is_integer = true;
}

static bool read_number(struct json_reader *reader, struct json_value *value)
{
    bool negative = take(reader, '-'), whole = true;
    const char *digits = reader->at, *digits_end;

    value->type = JSON_READER_NUMBER;
    if (!take(reader, '0') && !skip_digits(reader))
        return false;
    digits_end = reader->at;
    if (take(reader, '.')) {
        whole = false;
        if (!skip_digits(reader))
            return false;
    }
    if (take(reader, 'e') || take(reader, 'E')) {
        whole = false;
        if (!take(reader, '-'))
            take(reader, '+');
        if (!skip_digits(reader))
            return false;
    }
    if (whole)
        set_integer(value, digits, digits_end, negative);
    return true;
}

static bool read_word(struct json_reader *reader, struct json_value *value)
{
    static const struct {
        const char *word;
        enum json_reader_type type;
        bool boolean;
    } words[] = {
        { "true", JSON_READER_BOOL, true },
        { "false", JSON_READER_BOOL, false },
        { "null", JSON_READER_NULL, false },
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t len = strlen(words[i].word);

        if ((size_t)(reader->end - reader->at) >= len &&
            memcmp(reader->at, words[i].word, len) == 0) {
            reader->at += len;
            value->type = words[i].type;
            value->boolean = words[i].boolean;
            return true;
        }
    }
    return fail(reader, "not JSON");
}

static bool key_is_known(const struct json_value *object,
                         const struct json_value *member)
{
    for (const struct json_value *other = object->first; other;
         other = other->next) {
        if (other->key_len == member->key_len &&
            memcmp(other->key, member->key, member->key_len) == 0)
            return true;
    }
    return false;
}

static bool read_key(struct json_reader *reader,
                     const struct json_value *object, struct json_value *member)
{
    if (!take(reader, '"'))
        return fail(reader, "expected a member name");
    if (!read_string(reader, &member->key, &member->key_len))
        return false;
    if (key_is_known(object, member))
        return fail(reader, "duplicate member");
    skip_blanks(reader);
    if (!take(reader, ':'))
        return fail(reader, "expected a colon");
    return true;
}

/* Parse an array or object after its opening bracket. */
static bool read_children(struct json_reader *reader, struct json_value *parent,
                          char closing, int depth)
{
    const struct json_value **link = &parent->first;

    if (depth == JSON_READER_MAX_DEPTH)
        return fail(reader, "nested too deeply");
    skip_blanks(reader);
    if (take(reader, closing))
        return true;
    for (;;) {
        struct json_value *child = value_new(reader);

        if (!child)
            return false;
        skip_blanks(reader);
        if (closing == '}' && !read_key(reader, parent, child))
            return false;
        if (!read_value(reader, child, depth + 1))
            return false;
        *link = child;
        link = &child->next;
        skip_blanks(reader);
        if (take(reader, closing))
            return true;
        if (!take(reader, ','))
            return fail(reader, "expected a comma or a bracket");
    }
}

static bool read_value(struct json_reader *reader, struct json_value *value,
                       int depth)
{
    skip_blanks(reader);
    if (take(reader, '{')) {
        value->type = JSON_READER_OBJECT;
        return read_children(reader, value, '}', depth);
    }
    if (take(reader, '[')) {
        value->type = JSON_READER_ARRAY;
        return read_children(reader, value, ']', depth);
    }
    if (take(reader, '"')) {
        value->type = JSON_READER_STRING;
        return read_string(reader, &value->text, &value->len);
    }
    if (peek(reader) == '-' || is_digit(peek(reader)))
        return read_number(reader, value);
    return read_word(reader, value);
}

const struct json_value *json_reader_parse(struct json_reader *reader,
                                           char *line, size_t len)
{
    struct json_value *root;

    reader->count = 0;
    reader->at = line;
    reader->end = line + len;
    reader->error = NULL;
    root = value_new(reader);
    if (!read_value(reader, root, 0))
        return NULL;
    skip_blanks(reader);
    if (reader->at != reader->end) {
        fail(reader, "unexpected text after the value");
        return NULL;
    }
    return root;
}

const struct json_value *json_reader_member(const struct json_value *object,
                                            const char *key)
{
    size_t len = strlen(key);

    if (!object || object->type != JSON_READER_OBJECT)
        return NULL;
    for (const struct json_value *member = object->first; member;
         member = member->next) {
        if (member->key_len == len && memcmp(member->key, key, len) == 0)
            return member;
    }
    return NULL;
}

bool json_reader_get_string(const struct json_value *object, const char *key,
                            const char **ret_value)
{
    const struct json_value *member = json_reader_member(object, key);

    if (!member || member->type != JSON_READER_STRING ||
        memchr(member->text, '\0', member->len))
        return false;
    *ret_value = member->text;
    return true;
}

bool json_reader_get_integer(const struct json_value *object, const char *key,
                             int64_t *ret_value)
{
    const struct json_value *member = json_reader_member(object, key);

    if (!member || member->type != JSON_READER_NUMBER || !member->is_integer)
        return false;
    *ret_value = member->integer;
    return true;
}

bool json_reader_get_bool(const struct json_value *object, const char *key,
                          bool *ret_value)
{
    const struct json_value *member = json_reader_member(object, key);

    if (!member || member->type != JSON_READER_BOOL)
        return false;
    *ret_value = member->boolean;
    return true;
}

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (is_digit(c))
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool json_reader_decode_base64(struct json_reader *reader,
                               const struct json_value *value)
{
    struct json_value *own = &reader->values[value - reader->values];
    size_t digits = own->len, len = 0;
    char *bytes = (char *)
                      own->text; /* points into the line, which is writable */
    uint32_t bits = 0;

    if (own->type != JSON_READER_STRING || digits % 4 != 0)
        return false;
    for (int i = 0; i < 2 && digits > 0 && bytes[digits - 1] == '='; i++)
        digits--;
    for (size_t i = 0; i < digits; i++) {
        int digit = base64_digit(bytes[i]);

        if (digit < 0)
            return false;
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 > 0)
            bytes[len++] = (char)(bits >> (6 - i % 4 * 2));
    }
    bytes[len] = '\0';
    own->len = len;
    return true;
}
