/* SPDX-License-Identifier: Apache-2.0
 *
 * upstream_proxy - see upstream_proxy.h.
 */
#include "agent/machine/upstream_proxy.h"

#include <stdbool.h>
#include <string.h>

#include "agent/base/core_dumps.h"
#include "agent/base/no_proxy.h"
#include "agent/base/proxy_url.h"
#include "common/errors.h"

/* Positions in the list. */
enum { FOR_OTHERS, FOR_HTTP, KINDS };

enum { HTTP_PORT = 80 };

struct upstream_proxy {
    struct proxy_url urls[KINDS];
    char *no_proxy;
    GError *problem;
};

/* ---- the sources --------------------------------------------------------- */

const char *upstream_proxy_problem(const char *option)
{
    struct proxy_url url = { 0 };
    const char *problem;
    bool secret;

    if (!option || strcmp(option, UPSTREAM_PROXY_NONE) == 0)
        return NULL;
    problem = proxy_url_parse(option, &url);
    secret = url.authorization != NULL;
    proxy_url_clear(&url);
    if (secret)
        return "must not contain a user or password, which other users can "
               "read in the list of processes; set the variable HTTPS_PROXY "
               "to this URL instead";
    return problem;
}

static void take_url(struct upstream_proxy *upstream, int kind,
                     const char *source, const char *text)
{
    const char *problem = proxy_url_parse(text, &upstream->urls[kind]);

    if (problem && !upstream->problem)
        upstream->problem = g_error_new(
            STEPBACK_ERROR, ERROR_INVALID_FIELD,
            "%s: %s, or --upstream-proxy=none to connect directly", source,
            problem);
    if (upstream->urls[kind].authorization)
        core_dumps_forbid();
}

/* Take the first variable of names that is set and not empty. */
static const char *find_variable(const char *const *names)
{
    for (; *names; names++) {
        const char *value = g_getenv(*names);

        if (value && *value)
            return *names;
    }
    return NULL;
}

static void read_variables(struct upstream_proxy *upstream)
{
    static const char *const names[KINDS][6] = {
        [FOR_OTHERS] = { "https_proxy", "HTTPS_PROXY", "all_proxy",
                         "ALL_PROXY" },
        [FOR_HTTP] = { "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                       "ALL_PROXY" },
    };

    for (int kind = 0; kind < KINDS; kind++) {
        const char *name = find_variable(names[kind]);

        if (name)
            take_url(upstream, kind, name, g_getenv(name));
    }
}

struct upstream_proxy *upstream_proxy_new(const char *option)
{
    static const char *const exceptions[] = { "no_proxy", "NO_PROXY", NULL };
    struct upstream_proxy *upstream = g_new0(struct upstream_proxy, 1);
    const char *name = find_variable(exceptions);

    if (name)
        upstream->no_proxy = g_strdup(g_getenv(name));
    if (!option) {
        read_variables(upstream);
    } else if (strcmp(option, UPSTREAM_PROXY_NONE) != 0) {
        for (int kind = 0; kind < KINDS; kind++)
            take_url(upstream, kind, "--upstream-proxy", option);
    }
    return upstream;
}

void upstream_proxy_free(struct upstream_proxy *upstream)
{
    if (!upstream)
        return;
    for (int kind = 0; kind < KINDS; kind++)
        proxy_url_clear(&upstream->urls[kind]);
    g_clear_error(&upstream->problem);
    g_free(upstream->no_proxy);
    g_free(upstream);
}

gboolean upstream_proxy_check(const struct upstream_proxy *upstream,
                              GError **error)
{
    if (upstream->problem)
        g_propagate_error(error, g_error_copy(upstream->problem));
    return !upstream->problem;
}

/* ---- use ----------------------------------------------------------------- */

int upstream_proxy_find(const struct upstream_proxy *upstream, const char *name,
                        unsigned port, const char **ret_host)
{
    int kind = port == HTTP_PORT ? FOR_HTTP : FOR_OTHERS;
    const struct proxy_url *url = &upstream->urls[kind];

    if (url->port == 0 || no_proxy_matches(upstream->no_proxy, name, port))
        return -1;
    *ret_host = url->host;
    return kind;
}

json_t *upstream_proxy_to_json(const struct upstream_proxy *upstream)
{
    json_t *list = json_array();

    for (int kind = 0; kind < KINDS; kind++) {
        const struct proxy_url *url = &upstream->urls[kind];

        /* null keeps the positions. */
        json_array_append_new(
            list, url->port > 0
                      ? json_pack("{s:i, s:s?}", "port", (int)url->port,
                                  "authorization", url->authorization)
                      : json_null());
    }
    return list;
}

json_t *upstream_proxy_describe(const struct upstream_proxy *upstream)
{
    g_autofree char *texts[KINDS] = { NULL };
    json_t *object = json_object();

    for (int kind = 0; kind < KINDS; kind++) {
        if (upstream->urls[kind].port > 0)
            texts[kind] = proxy_url_format(&upstream->urls[kind]);
    }
    if (texts[FOR_OTHERS])
        json_object_set_new(object, "url", json_string(texts[FOR_OTHERS]));
    if (texts[FOR_HTTP] && g_strcmp0(texts[FOR_HTTP], texts[FOR_OTHERS]) != 0)
        json_object_set_new(object, "http_url", json_string(texts[FOR_HTTP]));
    if (json_object_size(object) > 0)
        return object;
    json_decref(object);
    return json_null();
}
