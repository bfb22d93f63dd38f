/* SPDX-License-Identifier: Apache-2.0
 *
 * http_override - see http_override.h.
 */
#include "proxy/http_override.h"

#include <glib.h>
#include <string.h>

static const struct {
    const char *name;
    bool is_path;
} fields[] = {
    { "X-HTTP-Method-Override", false }, { "X-HTTP-Method", false },
    { "X-Method-Override", false },      { "X-Original-URL", true },
    { "X-Rewrite-URL", true },           { "X-Original-URI", true },
    { "X-Forwarded-URI", true },         { "X-Override-URL", true },
};

static size_t letters_of(const char *value, size_t len)
{
    size_t at = 0;

    while (at < len && g_ascii_isalpha(value[at]))
        at++;
    return at;
}

/* Some servers take '_' for '-'. */
static bool is_name(const char *name, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char byte = text[i] == '_' ? '-' : text[i];

        if (!name[i] || g_ascii_tolower(byte) != g_ascii_tolower(name[i]))
            return false;
    }
    return !name[len];
}

/* Some servers take the first of several methods, or a part of the text. TRACE
 * would return the request's secrets. */
static bool is_method(const char *value, size_t len)
{
    return len > 0 && letters_of(value, len) == len &&
           !is_name("TRACE", value, len) && !is_name("TRACK", value, len) &&
           !is_name("CONNECT", value, len);
}

static void add(struct http_override *override, bool is_path, const char *value,
                size_t len)
{
    unsigned *count = is_path ? &override->path_count : &override->method_count;

    if (*count == HTTP_OVERRIDE_MAX || (!is_path && !is_method(value, len))) {
        override->exceeds = true;
    } else if (is_path) {
        const char *query = memchr(value, '?', len);

        override->paths[(*count)++] = g_strndup(
            value, query ? (size_t)(query - value) : len);
    } else {
        override->methods[(*count)++] = g_ascii_strup(value, (gssize)len);
    }
}

bool http_override_has(const char *name, size_t name_len)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(fields); i++) {
        if (is_name(fields[i].name, name, name_len))
            return true;
    }
    return false;
}

void http_override_take(struct http_override *override, const char *name,
                        size_t name_len, const char *value, size_t value_len)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(fields); i++) {
        if (is_name(fields[i].name, name, name_len))
            add(override, fields[i].is_path, value, value_len);
    }
}

/* Set the reason for a refusal, unless it is NULL. */
static void explain(const struct network_policy *policy, const char *host,
                    unsigned port, const char *method, const char *path,
                    char **ret_reason)
{
    g_autofree char *rule = NULL;

    if (!ret_reason)
        return;
    rule = network_policy_find_exception(policy, host, port, method, path);
    *ret_reason = rule ? g_strdup_printf("the network policy's entry %s "
                                         "forbids the request",
                                         rule)
                       : g_strdup("the network policy does not allow the "
                                  "request");
}

bool http_override_judge(const struct http_override *override,
                         const struct network_policy *policy, const char *host,
                         unsigned port, const char *method, const char *path,
                         char **ret_allow, char **ret_reason)
{
    *ret_allow = NULL;
    for (unsigned i = 0; i <= override->method_count; i++) {
        for (unsigned j = 0; j <= override->path_count; j++) {
            const char *to = i == 0 ? method : override->methods[i - 1];
            const char *at = j == 0 ? path : override->paths[j - 1];

            if (!network_policy_judge_request(policy, host, port, to, at,
                                              ret_allow)) {
                explain(policy, host, port, to, at, ret_reason);
                return false;
            }
        }
    }
    if (override->exceeds)
        explain(policy, host, port, method, path, ret_reason);
    return !override->exceeds;
}

void http_override_clear(struct http_override *override)
{
    for (unsigned i = 0; i < HTTP_OVERRIDE_MAX; i++) {
        g_free(override->methods[i]);
        g_free(override->paths[i]);
    }
    *override = (struct http_override){ 0 };
}
