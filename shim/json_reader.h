/* SPDX-License-Identifier: Apache-2.0
 *
 * json_reader - parse one JSON text in place, in bounded memory.
 *
 * The shim is a static program that allocates nothing once it runs, so it
 * cannot use the JSON library of the host's programs. This reader takes
 * RFC 8259 whole, with these bounds: JSON_READER_NODES values and names,
 * JSON_READER_DEPTH levels. Strings are decoded where they stand and ended by
 * a NUL; a string that holds U+0000 or a lone surrogate is refused. Numbers
 * that are not integers of 64 bits are accepted but have no value.
 */
#ifndef SHIM_JSON_READER_H
#define SHIM_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JSON_READER_NODES = 4096, JSON_READER_DEPTH = 16 };

enum json_kind {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_INTEGER,
    JSON_OTHER_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

/* Nodes lie in the order of the text. An object's are followed by a name (a
 * JSON_STRING), its value with all that is below it, the next name... */
struct json_node {
    enum json_kind kind;
    uint32_t next;   /* index of the first node after this one's subtree */
    char *string;    /* JSON_STRING: in the caller's text, with a NUL */
    size_t length;   /* JSON_STRING: bytes, without the NUL */
    int64_t integer; /* JSON_INTEGER */
};

struct json_reader {
    struct json_node nodes[JSON_READER_NODES];
    uint32_t count;
    char *at, *end;    /* while parsing */
    const char *error; /* of the last failure; a static string */
};

/* Parse text, which is changed and must outlive the nodes. True if all of it
 * is one JSON value, nodes[0]; else reader->error says what is wrong. */
bool json_reader_parse(struct json_reader *reader, char *text, size_t length);

/* The first member of this name of an object, or NULL (also if object is NULL
 * or no object). */
const struct json_node *json_reader_member(const struct json_reader *reader,
                                           const struct json_node *object,
                                           const char *name);

/* The string of a member, or NULL if it is missing or no string. */
const char *json_reader_string(const struct json_reader *reader,
                               const struct json_node *object,
                               const char *name);

/* The integer of a member; false if it is missing or no integer. */
bool json_reader_integer(const struct json_reader *reader,
                         const struct json_node *object, const char *name,
                         int64_t *ret_value);

#endif
