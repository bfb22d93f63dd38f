/* SPDX-License-Identifier: Apache-2.0
 *
 * json_member - finds one member of a JSON object that is too long to store or
 * is rejected.
 *
 * The object's bytes are scanned as a stream; only the current name or value is
 * stored, in a buffer of fixed size. The result is a string or an integer of
 * the top-level object. Other members are not validated, nor is the JSON as a
 * whole.
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
    bool wanted;   /* in the member that is searched for */
    bool over;     /* the search has ended */
    json_t *found;
    size_t length; /* of text; more than its capacity: too long */
    char text[JSON_MEMBER_ROOM];
};

/* name (borrowed) must outlive member. */
void json_member_init(struct json_member *member, const char *name);
void json_member_clear(struct json_member *member);

/* Scan the next bytes. Return true once the search has ended: found is set, or
 * stays NULL. */
bool json_member_feed(struct json_member *member, const char *data,
                      size_t length);

#endif
