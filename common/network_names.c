/* SPDX-License-Identifier: Apache-2.0
 *
 * network_names - see network_names.h.
 */
#include "common/network_names.h"

#include <string.h>

#include "common/errors.h"

/* The ports of an entry without one. */
static const unsigned web_ports[] = { 80, 443 };

static const char *text_of(const struct network_names *names,
                           const struct network_names_entry *entry)
{
    return names->text + entry->at;
}

/* ---- entries ------------------------------------------------------------- */

static bool has_entry(const struct network_names *names,
                      const struct network_name *name)
{
    for (unsigned i = 0; i < names->count; i++) {
        const struct network_names_entry *entry = &names->entries[i];

        if (entry->deny == name->deny && entry->raw == name->raw &&
            entry->below == name->below && entry->port == name->port &&
            strcmp(text_of(names, entry), name->text) == 0)
            return true;
    }
    return false;
}

/* Return the offset of the text, which is there once for all its entries. */
static bool put_text(struct network_names *names, const char *text,
                     uint16_t *ret_at)
{
    size_t length = strlen(text) + 1;

    for (unsigned i = 0; i < names->count; i++) {
        if (strcmp(text_of(names, &names->entries[i]), text) == 0) {
            *ret_at = names->entries[i].at;
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

gboolean network_names_add(struct network_names *names, const char *entry,
                           GError **error)
{
    struct network_name name;
    struct network_names_entry new = { 0 };

    if (!network_name_parse(entry, &name, error))
        return FALSE;
    if (has_entry(names, &name))
        return TRUE;
    if (names->count == NETWORK_NAMES_MAX ||
        !put_text(names, name.text, &new.at)) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "the network policy has more than %d names, or %d bytes of "
                    "names; use *.example.org for all names below example.org",
                    NETWORK_NAMES_MAX, NETWORK_NAMES_TEXT);
        return FALSE;
    }
    new.port = (uint16_t)name.port;
    new.deny = name.deny;
    new.raw = name.raw;
    new.below = name.below;
    names->entries[names->count++] = new;
    return TRUE;
}

char *network_names_format(const struct network_names *names, unsigned i)
{
    const struct network_names_entry *entry = &names->entries[i];
    struct network_name name = {
        .deny = entry->deny,
        .raw = entry->raw,
        .below = entry->below,
        .port = entry->port,
    };

    g_strlcpy(name.text, text_of(names, entry), sizeof(name.text));
    return network_name_format(&name);
}

/* ---- meaning ------------------------------------------------------------- */

static bool includes(const struct network_names *names,
                     const struct network_names_entry *entry, const char *name)
{
    return network_name_matches(text_of(names, entry), entry->below, name);
}

/* Return whether an exception includes the port, and the name or, with all
 * names below it, top. */
static bool is_denied(const struct network_names *names, const char *name,
                      const char *top, unsigned port)
{
    for (unsigned i = 0; i < names->count; i++) {
        const struct network_names_entry *entry = &names->entries[i];

        if (!entry->deny || (entry->port != 0 && entry->port != port))
            continue;
        if (name ? includes(names, entry, name)
                 : entry->below && (strcmp(text_of(names, entry), top) == 0 ||
                                    includes(names, entry, top)))
            return true;
    }
    return false;
}

/* Return whether the exceptions leave one of the entry's ports. */
static bool leaves_port(const struct network_names *names,
                        const struct network_names_entry *entry,
                        const char *name, const char *top)
{
    if (entry->port != 0)
        return !is_denied(names, name, top, entry->port);
    for (unsigned i = 0; i < G_N_ELEMENTS(web_ports); i++) {
        if (!is_denied(names, name, top, web_ports[i]))
            return true;
    }
    return false;
}

static enum network_name_verdict
judge_entry(const struct network_names_entry *entry, unsigned port)
{
    if (entry->port == 0)
        return port == web_ports[0] || port == web_ports[1] ? NAME_WEB
                                                            : NAME_DENIED;
    if (entry->port != port)
        return NAME_DENIED;
    return entry->raw ? NAME_RAW : NAME_PORT;
}

enum network_name_verdict network_names_judge(const struct network_names *names,
                                              const char *name, unsigned port)
{
    enum network_name_verdict verdict = NAME_DENIED;

    for (unsigned i = 0; i < names->count; i++) {
        const struct network_names_entry *entry = &names->entries[i];

        if (!entry->deny && includes(names, entry, name))
            verdict = MAX(verdict, judge_entry(entry, port));
    }
    return is_denied(names, name, NULL, port) ? NAME_DENIED : verdict;
}

bool network_names_list(const struct network_names *names, const char *name)
{
    for (unsigned i = 0; i < names->count; i++) {
        const struct network_names_entry *entry = &names->entries[i];

        if (!entry->deny && includes(names, entry, name) &&
            leaves_port(names, entry, name, NULL))
            return true;
    }
    return false;
}

/* Return whether the entry allows names below this one. */
static bool allows_below(const struct network_names *names,
                         const struct network_names_entry *entry,
                         const char *name)
{
    const char *text = text_of(names, entry);
    bool deeper = network_name_is_below(text, name);

    if (!entry->below)
        return deeper && leaves_port(names, entry, text, NULL);
    if (deeper || strcmp(text, name) == 0)
        return leaves_port(names, entry, NULL, text);
    return includes(names, entry, name) &&
           leaves_port(names, entry, NULL, name);
}

bool network_names_have_below(const struct network_names *names,
                              const char *name)
{
    for (unsigned i = 0; i < names->count; i++) {
        if (!names->entries[i].deny &&
            allows_below(names, &names->entries[i], name))
            return true;
    }
    return false;
}

bool network_names_have_wildcard(const struct network_names *names,
                                 const char *name)
{
    for (unsigned i = 0; i < names->count; i++) {
        const struct network_names_entry *entry = &names->entries[i];

        if (!entry->deny && entry->below &&
            strcmp(text_of(names, entry), name) == 0)
            return true;
    }
    return false;
}

bool network_names_except(const struct network_names *names, const char *name)
{
    for (unsigned i = 0; i < names->count; i++) {
        if (names->entries[i].deny && includes(names, &names->entries[i], name))
            return true;
    }
    return false;
}
