/* SPDX-License-Identifier: Apache-2.0
 *
 * json_reader - an allocation-free JSON parser for the wire's lines.
 *
 * The shim is static, runs as PID 1 and does not allocate after its start, so
 * it cannot use the library that the supervisor uses. A line is parsed in
 * place: strings are unescaped where they are (an escape is never shorter than
 * its value) and terminated with a NUL over their closing quote. Values come
 * from a fixed pool; excess depth, too many values and duplicate keys are
 * errors.
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
    bool is_integer; /* numbers: no fraction or exponent, and fits into 64 bits
                      */
    int64_t integer;
    const char *text; /* strings: len bytes and a NUL; may contain NULs */
    size_t len;
    const char *key; /* members of an object: the key, likewise */
    size_t key_len;
    const struct json_value *first; /* arrays and objects: the children, */
    const struct json_value *next;  /* linked in text order */
};

struct json_reader {
    struct json_value values[JSON_READER_MAX_VALUES];
    size_t count;
    char *at;
    const char *end;
    const char *error; /* the problem with the line; static */
};

/* Parse one complete value; only white space may follow. Writes to the line.
 * Return the value, which borrows the line and the reader, or NULL with
 * reader->error set. */
const struct json_value *json_reader_parse(struct json_reader *reader,
                                           char *line, size_t len);

/* Return the object's member with that key, or NULL if it has none or object is
 * not an object (or NULL). Borrowed. */
const struct json_value *json_reader_member(const struct json_value *object,
                                            const char *key);

/* Read a member of this type. Return false, without changing *ret_value, if the
 * member is missing or of another type. A string that contains a NUL counts as
 * another type: commands, paths and names cannot contain one. */
bool json_reader_get_string(const struct json_value *object, const char *key,
                            const char **ret_value);
bool json_reader_get_integer(const struct json_value *object, const char *key,
                             int64_t *ret_value);
bool json_reader_get_bool(const struct json_value *object, const char *key,
                          bool *ret_value);

/* Decode a base64 string of this reader in place and append a NUL. Return false
 * if it is not a string, or not base64; its text may be damaged then. */
bool json_reader_decode_base64(struct json_reader *reader,
                               const struct json_value *value);

#endif
