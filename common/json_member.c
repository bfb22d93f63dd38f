/* SPDX-License-Identifier: Apache-2.0
 *
 * json_member - see json_member.h.
 */
#include "common/json_member.h"

#include <string.h>

void json_member_init(struct json_member *member, const char *name)
{
    *member = (struct json_member){ .name = name };
}

void json_member_clear(struct json_member *member)
{
    json_decref(member->found);
    json_member_init(member, member->name);
}

/* ---- names and values ---------------------------------------------------- */

static void keep(struct json_member *member, char c)
{
    if (member->length < sizeof(member->text))
        member->text[member->length] = c;
    if (member->length <= sizeof(member->text))
        member->length++;
}

static bool is_kept(const struct json_member *member)
{
    return member->depth == 1 && (!member->is_value || member->wanted);
}

/* Parse the kept bytes. Return a new reference; NULL if they are too long or
 * invalid. */
static json_t *take_kept(struct json_member *member)
{
    size_t length = member->length;

    member->length = 0;
    if (length == 0 || length > sizeof(member->text))
        return NULL;
    return json_loadb(member->text, length, JSON_DECODE_ANY, NULL);
}

/* ':' at depth 1: a name is complete. */
static void end_name(struct json_member *member)
{
    json_t *name = take_kept(member);

    member->is_value = true;
    member->wanted = json_is_string(name) &&
                     strcmp(json_string_value(name), member->name) == 0;
    json_decref(name);
}

/* ',' or '}' at depth 1: a value is complete. */
static void end_value(struct json_member *member)
{
    json_t *value = take_kept(member);

    if (member->wanted) {
        member->over = true;
        if (json_is_string(value) || json_is_integer(value))
            member->found = json_incref(value);
    }
    json_decref(value);
    member->is_value = member->wanted = false;
}

/* ---- bytes --------------------------------------------------------------- */

static void take_in_string(struct json_member *member, char c)
{
    if (is_kept(member))
        keep(member, c);
    if (member->escaped)
        member->escaped = false;
    else if (c == '\\')
        member->escaped = true;
    else
        member->in_string = c != '"';
}

static void open_level(struct json_member *member, char c)
{
    /* An array has no members; an object is not a string or integer. */
    member->over = member->depth == 0 ? c == '[' : member->wanted;
    member->depth++;
}

static void close_level(struct json_member *member)
{
    if (member->depth == 1)
        end_value(member);
    if (member->depth <= 1)
        member->over = true;
    else
        member->depth--;
}

static void take(struct json_member *member, char c)
{
    switch (c) {
    case '{':
    case '[':
        open_level(member, c);
        return;
    case '}':
    case ']':
        close_level(member);
        return;
    case ' ':
    case '\t':
    case '\r':
        return;
    default:
        break;
    }
    if (member->depth == 0)
        member->over = true; /* not an object */
    else if (c == ':' && member->depth == 1)
        end_name(member);
    else if (c == ',' && member->depth == 1)
        end_value(member);
    else if (is_kept(member))
        keep(member, c);
    member->in_string = c == '"';
}

bool json_member_feed(struct json_member *member, const char *data,
                      size_t length)
{
    for (size_t i = 0; i < length && !member->over; i++) {
        if (member->in_string)
            take_in_string(member, data[i]);
        else
            take(member, data[i]);
    }
    return member->over;
}
