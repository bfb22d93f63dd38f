/* SPDX-License-Identifier: Apache-2.0
 *
 * network_names_judge - the meaning of the names of a network policy; see
 * network_names.h.
 */
#include <string.h>

#include "common/network_method.h"
#include "common/network_names.h"

static const char *text_of(const struct network_names *names,
                           const struct network_names_entry *entry)
{
    return names->text + entry->at;
}

/* ---- connections --------------------------------------------------------- */

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

static bool is_listing(const struct network_names_entry *entry)
{
    return !entry->deny && !entry->secret;
}

static bool is_allowing(const struct network_names_entry *entry)
{
    return is_listing(entry) && !entry->ask;
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
    return entry->deny || network_name_is_web(port);
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
    return !is_denied(names, name, top, NETWORK_HTTP_PORT) ||
           !is_denied(names, name, top, NETWORK_HTTPS_PORT);
}

static enum network_name_verdict
judge_entry(const struct network_names_entry *entry, unsigned port)
{
    if (!is_listing(entry) || !has_port(entry, port))
        return NAME_DENIED;
    if (entry->ask)
        return NAME_ASK;
    if (entry->intercept || is_partial(entry))
        return NAME_INTERCEPT;
    if (entry->raw)
        return NAME_RAW;
    return network_name_is_web(port) ? NAME_WEB : NAME_PORT;
}

/* asked: the verdict of an entry that asks. */
static enum network_name_verdict judge(const struct network_names *names,
                                       const char *name, unsigned port,
                                       enum network_name_verdict asked)
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
    if (verdict == NAME_ASK)
        verdict = asked;
    return is_denied(names, name, NULL, port) ? NAME_DENIED
                                              : MIN(verdict, most);
}

enum network_name_verdict network_names_judge(const struct network_names *names,
                                              const char *name, unsigned port)
{
    return judge(names, name, port, NAME_ASK);
}

enum network_name_verdict
network_names_judge_allowed(const struct network_names *names, const char *name,
                            unsigned port)
{
    return judge(names, name, port,
                 network_name_is_web(port) ? NAME_WEB : NAME_PORT);
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

/* asks: the name is under ask, and a user has allowed the connection. */
static bool judge_request(const struct network_names *names,
                          const struct request *request, bool asks,
                          bool *ret_excepted)
{
    bool allowed = false;

    *ret_excepted = false;
    for (unsigned i = 0; i < names->count; i++) {
        const struct network_names_entry *entry = &names->entries[i];

        if (!concerns(names, entry, request) ||
            !has_method(names, entry, request->method) ||
            !has_path(names, entry, request->path))
            continue;
        allowed = allowed || is_allowing(entry) || (asks && entry->ask);
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

    if (length > NETWORK_METHOD_MAX ||
        !network_method_is_known(request->method, length))
        return NULL;
    if (request->path) {
        if (network_path_find_problem(path, strlen(path), &at))
            return NULL;
        g_strlcpy(name.path, path, sizeof(name.path));
    }
    if (network_name_is_web(name.port))
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
    enum network_name_verdict verdict = network_names_judge(names, name, port);
    bool excepted;

    *ret_allow = NULL;
    if (verdict == NAME_DENIED)
        return false;
    if (needs_path(names, &request)) {
        request.path = converted = g_new(struct network_path, 1);
        if (!network_path_convert(path, converted))
            return false;
    }
    if (judge_request(names, &request, verdict == NAME_ASK, &excepted))
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

char *network_names_find_exception(const struct network_names *names,
                                   const char *name, unsigned port,
                                   const char *method, const char *path)
{
    g_autofree struct network_path *converted = g_new(struct network_path, 1);
    bool has_converted = path && network_path_convert(path, converted);

    for (unsigned i = 0; i < names->count; i++) {
        const struct network_names_entry *entry = &names->entries[i];

        if (!entry->deny || !includes(names, entry, name) ||
            (port != 0 && !has_port(entry, port)))
            continue;
        if (is_partial(entry) &&
            (!method || !has_method(names, entry, method) ||
             (entry->path < NETWORK_NAMES_TEXT &&
              !(has_converted && has_path(names, entry, converted)))))
            continue;
        return network_names_format(names, i);
    }
    return NULL;
}

/* ---- resolution ---------------------------------------------------------- */

static bool lists(const struct network_names *names, const char *name,
                  bool (*is_wanted)(const struct network_names_entry *entry))
{
    for (unsigned i = 0; i < names->count; i++) {
        const struct network_names_entry *entry = &names->entries[i];

        if (is_wanted(entry) && includes(names, entry, name) &&
            leaves_port(names, entry, name, NULL))
            return true;
    }
    return false;
}

bool network_names_list(const struct network_names *names, const char *name)
{
    return lists(names, name, is_listing);
}

bool network_names_allow(const struct network_names *names, const char *name)
{
    return lists(names, name, is_allowing);
}

/* Return whether the entry allows names below this one. */
static bool allows_below(const struct network_names *names,
                         const struct network_names_entry *entry,
                         const char *name)
{
    const char *text = text_of(names, entry);
    bool deeper = network_name_is_below(text, name);

    if (strcmp(text, NETWORK_NAME_ANY) == 0)
        return leaves_port(names, entry, NULL, name);
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
        if (is_listing(&names->entries[i]) &&
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

        if (is_listing(entry) && entry->below &&
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
