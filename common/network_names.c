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

static bool is_same(const struct network_names_entry *a,
                    const struct network_names_entry *b)
{
    return a->at == b->at && a->port == b->port && a->method == b->method &&
           a->path == b->path && a->deny == b->deny && a->raw == b->raw &&
           a->intercept == b->intercept && a->secret == b->secret &&
           a->below == b->below;
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
        .below = entry->below,
        .port = entry->port,
    };
    g_strlcpy(ret_name->text, text_of(names, entry), sizeof(ret_name->text));
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
        return forcing->deny || raw->port == web_ports[0] ||
               raw->port == web_ports[1];
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

/* ---- meaning ------------------------------------------------------------- */

static bool includes(const struct network_names *names,
                     const struct network_names_entry *entry, const char *name)
{
    return network_name_matches(text_of(names, entry), entry->below, name);
}

/* Return whether the entry is for some requests only. */
static bool is_partial(const struct network_names_entry *entry)
{
    return entry->method < NETWORK_NAMES_TEXT ||
           entry->path < NETWORK_NAMES_TEXT;
}

static bool is_allowing(const struct network_names_entry *entry)
{
    return !entry->deny && !entry->secret;
}

static bool forces_interception(const struct network_names_entry *entry)
{
    return entry->intercept || entry->secret ||
           (entry->deny && is_partial(entry));
}

static bool has_port(const struct network_names_entry *entry, unsigned port)
{
    if (entry->port != 0)
        return entry->port == port;
    return entry->deny || port == web_ports[0] || port == web_ports[1];
}

/* Return whether an exception includes the port, and the name or, with all
 * names below it, top. */
static bool is_denied(const struct network_names *names, const char *name,
                      const char *top, unsigned port)
{
    for (unsigned i = 0; i < names->count; i++) {
        const struct network_names_entry *entry = &names->entries[i];

        if (!entry->deny || is_partial(entry) || !has_port(entry, port))
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
    if (!is_allowing(entry) || !has_port(entry, port))
        return NAME_DENIED;
    if (entry->intercept || is_partial(entry))
        return NAME_INTERCEPT;
    if (entry->raw)
        return NAME_RAW;
    return entry->port == 0 ? NAME_WEB : NAME_PORT;
}

enum network_name_verdict network_names_judge(const struct network_names *names,
                                              const char *name, unsigned port)
{
    enum network_name_verdict verdict = NAME_DENIED, most = NAME_RAW;

    for (unsigned i = 0; i < names->count; i++) {
        const struct network_names_entry *entry = &names->entries[i];

        if (!includes(names, entry, name) || !has_port(entry, port))
            continue;
        verdict = MAX(verdict, judge_entry(entry, port));
        if (forces_interception(entry))
            most = NAME_INTERCEPT;
    }
    return is_denied(names, name, NULL, port) ? NAME_DENIED
                                              : MIN(verdict, most);
}

/* ---- requests ------------------------------------------------------------ */

/* Of a request: path is NULL if no entry for its name has one. */
struct request {
    const char *name, *method;
    unsigned port;
    const struct network_path *path;
};

static bool concerns(const struct network_names *names,
                     const struct network_names_entry *entry,
                     const struct request *request)
{
    return includes(names, entry, request->name) &&
           has_port(entry, request->port);
}

static bool needs_path(const struct network_names *names,
                       const struct request *request)
{
    for (unsigned i = 0; i < names->count; i++) {
        if (names->entries[i].path < NETWORK_NAMES_TEXT &&
            concerns(names, &names->entries[i], request))
            return true;
    }
    return false;
}

static bool has_method(const struct network_names *names,
                       const struct network_names_entry *entry,
                       const char *method)
{
    const char *own = names->text + entry->method;

    if (entry->method == NETWORK_NAMES_TEXT)
        return true;
    /* Some servers accept a method in any case. */
    return entry->deny ? g_ascii_strcasecmp(own, method) == 0
                       : strcmp(own, method) == 0;
}

static bool has_path(const struct network_names *names,
                     const struct network_names_entry *entry,
                     const struct network_path *path)
{
    const char *own = names->text + entry->path;

    if (entry->path == NETWORK_NAMES_TEXT)
        return true;
    return entry->deny ? network_path_is_denied(path, own)
                       : network_path_is_allowed(path, own);
}

static bool judge_request(const struct network_names *names,
                          const struct request *request, bool *ret_excepted)
{
    bool allowed = false;

    *ret_excepted = false;
    for (unsigned i = 0; i < names->count; i++) {
        const struct network_names_entry *entry = &names->entries[i];

        if (!concerns(names, entry, request) ||
            !has_method(names, entry, request->method) ||
            !has_path(names, entry, request->path))
            continue;
        allowed = allowed || is_allowing(entry);
        *ret_excepted = *ret_excepted || entry->deny;
    }
    return allowed && !*ret_excepted;
}

/* Return an entry for this request alone, a new string, or NULL if there is
 * none in the policy's notation. */
static char *entry_for(const struct request *request, const char *path)
{
    struct network_name name = { .port = request->port };
    size_t length = strlen(request->method), at;

    if (length == 0 || length > NETWORK_METHOD_MAX ||
        strspn(request->method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") < length)
        return NULL;
    if (request->path) {
        if (network_path_find_problem(path, strlen(path), &at))
            return NULL;
        g_strlcpy(name.path, path, sizeof(name.path));
    }
    if (name.port == web_ports[0] || name.port == web_ports[1])
        name.port = 0;
    g_strlcpy(name.text, request->name, sizeof(name.text));
    g_strlcpy(name.method, request->method, sizeof(name.method));
    return network_name_format(&name);
}

bool network_names_judge_request(const struct network_names *names,
                                 const char *name, unsigned port,
                                 const char *method, const char *path,
                                 char **ret_allow)
{
    struct request request = { name, method, port, NULL };
    g_autofree struct network_path *converted = NULL;
    bool excepted;

    *ret_allow = NULL;
    if (network_names_judge(names, name, port) == NAME_DENIED)
        return false;
    if (needs_path(names, &request)) {
        request.path = converted = g_new(struct network_path, 1);
        if (!network_path_convert(path, converted))
            return false;
    }
    if (judge_request(names, &request, &excepted))
        return true;
    if (!excepted)
        *ret_allow = entry_for(&request, path);
    return false;
}

bool network_names_divide_requests(const struct network_names *names,
                                   const char *name, unsigned port)
{
    const struct request request = { .name = name, .port = port };

    for (unsigned i = 0; i < names->count; i++) {
        if (is_partial(&names->entries[i]) &&
            concerns(names, &names->entries[i], &request))
            return true;
    }
    return false;
}

/* ---- resolution ---------------------------------------------------------- */

bool network_names_list(const struct network_names *names, const char *name)
{
    for (unsigned i = 0; i < names->count; i++) {
        const struct network_names_entry *entry = &names->entries[i];

        if (is_allowing(entry) && includes(names, entry, name) &&
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
        if (is_allowing(&names->entries[i]) &&
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

        if (is_allowing(entry) && entry->below &&
            strcmp(text_of(names, entry), name) == 0)
            return true;
    }
    return false;
}

bool network_names_intercept(const struct network_names *names,
                             const char *name)
{
    for (unsigned i = 0; i < names->count; i++) {
        const struct network_names_entry *entry = &names->entries[i];

        if ((forces_interception(entry) || is_partial(entry)) &&
            (!name || includes(names, entry, name)))
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
