/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy_url - see proxy_url.h.
 */
#include "agent/base/proxy_url.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <string.h>

#include "common/network_name.h"

#define REMEDY "; use http://HOST:PORT"

enum { USER_MAX = 2048 };

static void clear_text(char **text)
{
    if (*text)
        explicit_bzero(*text, strlen(*text));
    g_clear_pointer(text, g_free);
}

void proxy_url_clear(struct proxy_url *url)
{
    g_clear_pointer(&url->host, g_free);
    clear_text(&url->authorization);
    url->port = 0;
}

/* ---- the scheme ---------------------------------------------------------- */

/* Move *at behind the scheme. */
static const char *take_scheme(const char **at)
{
    static const char mark[] = "://";
    const char *end = strstr(*at, mark);

    if (!end)
        return NULL;
    if (g_ascii_strncasecmp(*at, "https", (gsize)(end - *at)) == 0 &&
        end - *at == 5)
        return "a proxy that is itself reached by TLS (https://) is not "
               "supported" REMEDY;
    if (g_ascii_strncasecmp(*at, "socks", 5) == 0)
        return "a SOCKS proxy is not supported" REMEDY;
    if (end - *at != 4 || g_ascii_strncasecmp(*at, "http", 4) != 0)
        return "the URL has another scheme" REMEDY;
    *at = end + strlen(mark);
    return NULL;
}

/* ---- user and password --------------------------------------------------- */

/* Return the text without percent encoding: a new string; NULL: it is malformed
 * or has control characters. */
static char *decode(const char *text, const char *end)
{
    char *decoded = g_uri_unescape_segment(text, end, NULL);

    for (char *at = decoded; at && *at; at++) {
        if (!g_ascii_iscntrl(*at))
            continue;
        clear_text(&decoded);
        return NULL;
    }
    return decoded;
}

static const char *take_user(const char *text, const char *end,
                             struct proxy_url *url)
{
    const char *colon = memchr(text, ':', (size_t)(end - text));
    const char *stop = colon ? colon : end;
    char *user, *password, *both, *base64;

    if (end - text > USER_MAX)
        return "the user and password are too long" REMEDY;
    user = decode(text, stop);
    password = decode(stop + (stop < end), end);
    if (!user || !password || strchr(user, ':')) {
        clear_text(&user);
        clear_text(&password);
        return "the user and password are malformed; encode their bytes as %XX";
    }
    both = g_strconcat(user, ":", password, NULL);
    base64 = g_base64_encode((const guchar *)both, strlen(both));
    url->authorization = g_strconcat("Basic ", base64, NULL);
    clear_text(&user);
    clear_text(&password);
    clear_text(&both);
    clear_text(&base64);
    return NULL;
}

/* ---- host and port ------------------------------------------------------- */

static bool is_host(const char *host, bool bracketed)
{
    char name[NETWORK_NAME_MAX + 1];
    struct in6_addr address;

    return bracketed ? inet_pton(AF_INET6, host, &address) == 1
                     : network_name_normalize(host, name);
}

/* text: the authority without user and password, until end. */
static const char *take_host(const char *text, const char *end,
                             struct proxy_url *url)
{
    g_autofree char *all = g_strndup(text, (gsize)(end - text));
    bool bracketed = *all == '[';
    char *host = all + bracketed, *rest;
    guint64 port = PROXY_URL_PORT;

    rest = bracketed ? strchr(host, ']') : host + strcspn(host, ":");
    if (!rest)
        return "the host is malformed" REMEDY;
    if (bracketed)
        *rest++ = '\0';
    if (*rest && *rest != ':')
        return "the host is malformed" REMEDY;
    if (*rest &&
        !g_ascii_string_to_unsigned(rest + 1, 10, 1, 65535, &port, NULL))
        return "the port must be a number from 1 to 65535" REMEDY;
    if (!bracketed)
        *rest = '\0';
    if (!*host)
        return "the host is missing" REMEDY;
    if (!is_host(host, bracketed))
        return "the host is malformed" REMEDY;
    url->host = g_strdup(host);
    url->port = (unsigned)port;
    return NULL;
}

/* ---- the whole ----------------------------------------------------------- */

static const char *parse(const char *text, struct proxy_url *url)
{
    const char *problem = take_scheme(&text), *end, *at;

    if (problem)
        return problem;
    end = text + strcspn(text, "/?#");
    at = memrchr(text, '@', (size_t)(end - text));
    if (*end && strcmp(end, "/") != 0)
        return "a proxy's URL has neither a path nor a query; remove it (and "
               "write / ? # of a password as %2F %3F %23)";
    if (at)
        problem = take_user(text, at, url);
    return problem ? problem : take_host(at ? at + 1 : text, end, url);
}

const char *proxy_url_parse(const char *text, struct proxy_url *ret_url)
{
    struct proxy_url url = { 0 };
    const char *problem = parse(text, &url);

    if (problem)
        proxy_url_clear(&url);
    else
        *ret_url = url;
    return problem;
}

char *proxy_url_format(const struct proxy_url *url)
{
    bool v6 = strchr(url->host, ':') != NULL;

    return g_strdup_printf("http://%s%s%s:%u", v6 ? "[" : "", url->host,
                           v6 ? "]" : "", url->port);
}
