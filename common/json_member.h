/* SPDX-License-Identifier: Apache-2.0
 *
 * json_member - one member of a JSON object that is too long to be kept, or
 * is not taken.
 *
 * The object's bytes are looked at as they stream by, and nothing of them stays
 * but the name or the value at hand, within a fixed room. What is found is a
 * string or an integer of the top-level object; what is in its other members,
 * or whether the whole is JSON at all, is nobody's business here.
 */
#ifndef COMMON_JSON_MEMBER_H
#define COMMON_JSON_MEMBER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A string of 256 characters, each written as \u1234, and its quotes. */
enum { JSON_MEMBER_ROOM = 6 * 256 + 2 };

struct json_member {
    const char *name; /* borrowed */
    uint64_t depth;   /* of objects and arrays */
    bool in_string, escaped;
    bool is_value; /* at depth 1: after the colon */
    bool wanted;   /* of the member that is looked for */
    bool over;     /* nothing more can be found */
    json_t *found;
    size_t length; /* of text; more than its room: too long */
    char text[JSON_MEMBER_ROOM];
};

/* name (borrowed) must outlive it. */
void json_member_init(struct json_member *member, const char *name);
void json_member_clear(struct json_member *member);

/* The next bytes. True once it is decided: found, or NULL for ever. */
bool json_member_feed(struct json_member *member, const char *data,
                      size_t length);

#endif
