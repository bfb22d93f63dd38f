/* SPDX-License-Identifier: Apache-2.0
 *
 * json_reader - a JSON parser for the wire's lines, without allocation.
 *
 * The shim is static, runs as PID 1 and takes no memory after its start, so
 * it cannot use the library that the agent uses. A line is parsed in place:
 * strings are unescaped where they lie (an escape is never shorter than what
 * it stands for) and ended with a NUL over their closing quote. Values come
 * from a fixed pool; depth, number of values and duplicate keys are refused,
 * not worked around.
 */
#ifndef SHIM_JSON_READER_H
#define SHIM_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_READER_MAX_DEPTH  8
#define JSON_READER_MAX_VALUES 8192

enum json_reader_type {
    JSON_READER_NULL,
    JSON_READER_BOOL,
    JSON_READER_NUMBER,
    JSON_READER_STRING,
    JSON_READER_ARRAY,
    JSON_READER_OBJECT,
};

struct json_value {
    enum json_reader_type type;
    bool boolean;
    bool is_integer; /* of a number: written without fraction or exponent,
                      * and within 64 bits */
    int64_t integer;
    const char *text; /* of a string: len bytes and a NUL; it may hold NULs */
    size_t len;
    const char *key; /* of an object's member, likewise */
    size_t key_len;
    const struct json_value *first; /* of an array or object: its children, */
    const struct json_value *next;  /* linked in the order of the text */
};

struct json_reader {
    struct json_value values[JSON_READER_MAX_VALUES];
    size_t count;
    char *at;
    const char *end;
    const char *error; /* what is wrong with the line; static */
};

/* Parse one whole value with nothing but blanks after it. Writes to the line.
 * Returns the value, which borrows the line and the reader, or NULL with
 * reader->error set. */
const struct json_value *json_reader_parse(struct json_reader *reader,
                                           char *line, size_t len);

/* The object's member with that key; NULL if it has none, or if object is no
 * object (or NULL). Borrowed. */
const struct json_value *json_reader_member(const struct json_value *object,
                                            const char *key);

/* A member's value if it is of the type. False (and *ret_value kept): it is
 * missing or is something else. A string with a NUL in it is something else:
 * no command, path or name can hold one. */
bool json_reader_get_string(const struct json_value *object, const char *key,
                            const char **ret_value);
bool json_reader_get_integer(const struct json_value *object, const char *key,
                             int64_t *ret_value);
bool json_reader_get_bool(const struct json_value *object, const char *key,
                          bool *ret_value);

/* Replace a string of this reader, which is base64, by the bytes that it stands
 * for, and a NUL. False: it is no string, or no base64; its text may be
 * damaged then. */
bool json_reader_decode_base64(struct json_reader *reader,
                               const struct json_value *value);

#endif
