/* SPDX-License-Identifier: Apache-2.0
 *
 * network_names - see network_names.h.
 */
#include "common/network_names.h"

#include <string.h>

#include "common/errors.h"

/* ---- entries ------------------------------------------------------------- */

static bool is_same(const struct network_names_entry *a,
                    const struct network_names_entry *b)
{
    return a->at == b->at && a->port == b->port && a->method == b->method &&
           a->path == b->path && a->deny == b->deny && a->raw == b->raw &&
           a->intercept == b->intercept && a->secret == b->secret &&
           a->ask == b->ask && a->below == b->below;
}

static bool has_entry(const struct network_names *names,
                      const struct network_names_entry *entry)
{
    for (unsigned i = 0; i < names->count; i++) {
        if (is_same(&names->entries[i], entry))
            return true;
    }
    return false;
}

/* Return the offset of the text, which is there once for all its entries. */
static bool put_text(struct network_names *names, const char *text,
                     uint16_t *ret_at)
{
    size_t length = strlen(text) + 1, at;

    for (at = 0; at < names->used; at += strlen(names->text + at) + 1) {
        if (strcmp(names->text + at, text) == 0) {
            *ret_at = (uint16_t)at;
            return true;
        }
    }
    if (length > NETWORK_NAMES_TEXT - names->used)
        return false;
    memcpy(names->text + names->used, text, length);
    *ret_at = (uint16_t)names->used;
    names->used += (unsigned)length;
    return true;
}

static bool put_texts(struct network_names *names,
                      const struct network_name *name,
                      struct network_names_entry *ret_entry)
{
    ret_entry->method = ret_entry->path = NETWORK_NAMES_TEXT;
    return put_text(names, name->text, &ret_entry->at) &&
           (!*name->method ||
            put_text(names, name->method, &ret_entry->method)) &&
           (!*name->path || put_text(names, name->path, &ret_entry->path));
}

/* Add it, or find that it is there. */
static bool put_entry(struct network_names *names,
                      const struct network_name *name)
{
    struct network_names_entry entry = {
        .port = (uint16_t)name->port,
        .deny = name->deny,
        .raw = name->raw,
        .intercept = name->intercept,
        .secret = name->secret,
        .ask = name->ask,
        .below = name->below,
    };

    if (!put_texts(names, name, &entry))
        return false;
    if (has_entry(names, &entry))
        return true;
    if (names->count == NETWORK_NAMES_MAX)
        return false;
    names->entries[names->count++] = entry;
    return true;
}

static void unpack(const struct network_names *names,
                   const struct network_names_entry *entry,
                   struct network_name *ret_name)
{
    *ret_name = (struct network_name){
        .deny = entry->deny,
        .raw = entry->raw,
        .intercept = entry->intercept,
        .secret = entry->secret,
        .ask = entry->ask,
        .below = entry->below,
        .port = entry->port,
    };
    g_strlcpy(ret_name->text, names->text + entry->at, sizeof(ret_name->text));
    if (entry->method < NETWORK_NAMES_TEXT)
        g_strlcpy(ret_name->method, names->text + entry->method,
                  sizeof(ret_name->method));
    if (entry->path < NETWORK_NAMES_TEXT)
        g_strlcpy(ret_name->path, names->text + entry->path,
                  sizeof(ret_name->path));
}

char *network_names_format(const struct network_names *names, unsigned i)
{
    struct network_name name;

    unpack(names, &names->entries[i], &name);
    return network_name_format(&name);
}

/* ---- raw: and interception ----------------------------------------------- */

/* Return whether one entry forces interception wherever the other one, which
 * is raw:, applies. */
static bool excludes(const struct network_name *forcing,
                     const struct network_name *raw)
{
    bool forces = forcing->intercept || forcing->secret ||
                  (forcing->deny && (*forcing->method || *forcing->path));
    bool has_name = raw->below == forcing->below &&
                    strcmp(raw->text, forcing->text) == 0;

    if (!forces || !raw->raw)
        return false;
    if (!has_name &&
        !(forcing->below && network_name_is_below(raw->text, forcing->text)))
        return false;
    if (forcing->port == 0)
        return forcing->deny || network_name_is_web(raw->port);
    return forcing->port == raw->port;
}

static gboolean check_raw(const struct network_names *names,
                          const struct network_name *name, GError **error)
{
    g_autofree char *text = network_name_format(name), *other_text = NULL;
    struct network_name other;

    for (unsigned i = 0; i < names->count; i++) {
        unpack(names, &names->entries[i], &other);
        if (!excludes(name, &other) && !excludes(&other, name))
            continue;
        other_text = network_name_format(&other);
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "the network policy's entries '%s' and '%s' exclude each "
                    "other: raw: passes bytes unread, the other one reads "
                    "requests; remove one, or give them different ports",
                    other_text, text);
        return FALSE;
    }
    return TRUE;
}

gboolean network_names_add(struct network_names *names, const char *entry,
                           GError **error)
{
    unsigned used = names->used;
    struct network_name name;

    if (!network_name_parse(entry, &name, error) ||
        !check_raw(names, &name, error))
        return FALSE;
    if (put_entry(names, &name))
        return TRUE;
    names->used = used;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                "the network policy has more than %d names, or %d bytes of "
                "names; use *.example.org for all names below example.org",
                NETWORK_NAMES_MAX, NETWORK_NAMES_TEXT);
    return FALSE;
}
