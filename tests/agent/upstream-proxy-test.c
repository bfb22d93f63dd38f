/* SPDX-License-Identifier: Apache-2.0
 *
 * upstream-proxy-test - which proxy connections go through, by the option and
 * the variables.
 */
#include <glib.h>
#include <stdbool.h>
#include <string.h>

#include "agent/base/no_proxy.h"
#include "agent/base/proxy_url.h"
#include "agent/machine/upstream_proxy.h"

/* ---- URLs ---------------------------------------------------------------- */

static void test_good_urls(void)
{
    static const struct {
        const char *text, *shown, *authorization;
    } cases[] = {
        { "http://proxy.example:3128", "http://proxy.example:3128", NULL },
        { "HTTP://proxy:3128/", "http://proxy:3128", NULL },
        { "proxy.example:8080", "http://proxy.example:8080", NULL },
        { "http://10.0.0.1", "http://10.0.0.1:80", NULL },
        { "http://[2001:db8::1]:1", "http://[2001:db8::1]:1", NULL },
        { "http://[::1]", "http://[::1]:80", NULL },
        { "http://user:pass@p:65535", "http://p:65535", "Basic dXNlcjpwYXNz" },
        { "http://user@p:1", "http://p:1", "Basic dXNlcjo=" },
        { "http://a%40b:p%3A%2F%20@p:1", "http://p:1", "Basic YUBiOnA6LyA=" },
        { "http://u:p@q@p:1", "http://p:1", "Basic dTpwQHE=" },
        { "http://:x@p:1", "http://p:1", "Basic Ong=" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct proxy_url url = { 0 };
        g_autofree char *shown = NULL;

        g_assert_cmpstr(proxy_url_parse(cases[i].text, &url), ==, NULL);
        shown = proxy_url_format(&url);
        g_assert_cmpstr(shown, ==, cases[i].shown);
        g_assert_cmpstr(url.authorization, ==, cases[i].authorization);
        proxy_url_clear(&url);
        g_assert_null(url.host);
    }
}

static void test_bad_urls(void)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        { "https://p:1", "TLS" },
        { "socks5h://p:1", "SOCKS" },
        { "SOCKS4://p:1", "SOCKS" },
        { "ftp://p:1", "scheme; use http://HOST:PORT" },
        { "httpx://p:1", "scheme" },
        { "http://", "missing" },
        { "http://:3128", "missing" },
        { "", "missing" },
        { "http://p:", "port" },
        { "http://p:0", "port" },
        { "http://p:65536", "port" },
        { "http://p:3128x", "port" },
        { "http://p:1:2", "port" },
        { "http://p:-1", "port" },
        { "http://[::1", "malformed" },
        { "http://[1.2.3.4]:1", "malformed" },
        { "http://[::1]x:1", "malformed" },
        { "http://[]:1", "missing" },
        { "http://a b:1", "malformed" },
        { "http://a\r\nb:1", "malformed" },
        { "http://a..b:1", "malformed" },
        { "http://\xc3\xbc.example:1", "malformed" },
        { "http://p:1/path", "path" },
        { "http://p:1?x", "path" },
        { "http://u:s3/cret@p:1", "path" },
        { "http://u:%0d%0a@p:1", "user and password" },
        { "http://u:%00@p:1", "user and password" },
        { "http://u:%zz@p:1", "user and password" },
        { "http://u%3a:x@p:1", "user and password" },
        { "http://u:\x01@p:1", "user and password" },
    };
    g_autofree char *filling = g_strnfill(2100, 'x');
    g_autofree char *long_user = g_strdup_printf("http://%s@p:1", filling);
    struct proxy_url url = { 0 };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *problem = proxy_url_parse(cases[i].text, &url);

        g_assert_nonnull(problem);
        if (!strstr(problem, cases[i].part))
            g_error("%s: %s", cases[i].text, problem);
        g_assert_true(url.port == 0 && !url.host && !url.authorization);
    }
    g_assert_nonnull(strstr(proxy_url_parse(long_user, &url), "too long"));
}

/* ---- NO_PROXY ------------------------------------------------------------ */

static void test_no_proxy(void)
{
    static const struct {
        const char *value;
        bool matches;
    } cases[] = {
        { NULL, false },
        { "", false },
        { "*", true },
        { "*:443", true },
        { "*:80", false },
        { "api.example.org", true },
        { "API.Example.ORG.", true },
        { "example.org", true },
        { ".example.org", true },
        { "*.example.org", true },
        { "org", true },
        { "ample.org", false },
        { "x.api.example.org", false },
        { "api.example.org:443", true },
        { "example.org:80", false },
        { "example.org:x", false },
        { "a.b, localhost\t127.0.0.1,,example.org", true },
        { "10.0.0.0/8,::1,[::1]:443,1.2.3.4,http://x,.,:443", false },
        { "*.*,api.*,..,.:", false },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        if (no_proxy_matches(cases[i].value, "api.example.org", 443) !=
            cases[i].matches)
            g_error("%s", cases[i].value);
    }
}

/* ---- the option and the variables ---------------------------------------- */

static const char *const names[] = { "http_proxy",  "HTTP_PROXY", "https_proxy",
                                     "HTTPS_PROXY", "all_proxy",  "ALL_PROXY",
                                     "no_proxy",    "NO_PROXY" };

/* Expect these hosts for the ports 443 and 80; NULL: none. */
static void expect(const char *option, const char *variables,
                   const char *wanted, const char *wanted_http)
{
    g_auto(GStrv) list = g_strsplit(variables, " ", -1);
    struct upstream_proxy *upstream;
    const char *hosts[2] = { NULL, NULL };
    GError *error = NULL;
    int at[2];

    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        g_unsetenv(names[i]);
    for (char **entry = list; *entry; entry++) {
        char *value = strchr(*entry, '=');

        if (!value)
            continue;
        *value = '\0';
        g_setenv(*entry, value + 1, TRUE);
    }
    upstream = upstream_proxy_new(option);
    g_assert_true(upstream_proxy_check(upstream, &error));
    at[0] = upstream_proxy_find(upstream, "a.example.org", 443, &hosts[0]);
    at[1] = upstream_proxy_find(upstream, "a.example.org", 80, &hosts[1]);
    g_assert_cmpstr(hosts[0], ==, wanted);
    g_assert_cmpstr(hosts[1], ==, wanted_http);
    g_assert_cmpint(at[0], ==, wanted ? 0 : -1);
    g_assert_cmpint(at[1], ==, wanted_http ? 1 : -1);
    upstream_proxy_free(upstream);
}

static void test_order(void)
{
    expect(NULL, "", NULL, NULL);
    expect(NULL, "HTTPS_PROXY=http://s:1", "s", "s");
    expect(NULL, "https_proxy=l:1 HTTPS_PROXY=u:1", "l", "l");
    expect(NULL, "https_proxy= HTTPS_PROXY=u:1", "u", "u");
    expect(NULL, "HTTPS_PROXY=s:1 http_proxy=h:1", "s", "h");
    expect(NULL, "http_proxy=h:1", NULL, "h");
    expect(NULL, "HTTP_PROXY=h:1", NULL, NULL);
    expect(NULL, "ALL_PROXY=a:1", "a", "a");
    expect(NULL, "ALL_PROXY=socks5://a:1 HTTPS_PROXY=s:1", "s", "s");
    expect(NULL, "HTTPS_PROXY=s:1 NO_PROXY=example.org", NULL, NULL);
    expect(NULL, "HTTPS_PROXY=s:1 NO_PROXY=a.example.org:80", "s", NULL);
    expect(NULL, "HTTPS_PROXY=s:1 no_proxy=x NO_PROXY=*", "s", "s");
    expect("http://o:2", "", "o", "o");
    expect("http://o:2", "HTTPS_PROXY=socks5://s http_proxy=h:x", "o", "o");
    expect("http://o:2", "NO_PROXY=example.org:443", NULL, "o");
    expect("none", "HTTPS_PROXY=s:1 http_proxy=h:1", NULL, NULL);
}

static void test_problems_have_no_password(void)
{
    static const char *const bad[] = { "https://u:s3cret@p:1",
                                       "socks5://s3cret", "http://u:s3cret@p:x",
                                       "u:s3cret/@p:1" };

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        GError *error = NULL;
        struct upstream_proxy *upstream;

        g_setenv("https_proxy", bad[i], TRUE);
        upstream = upstream_proxy_new(NULL);
        g_assert_false(upstream_proxy_check(upstream, &error));
        g_assert_true(g_str_has_prefix(error->message, "https_proxy: "));
        g_assert_nonnull(strstr(error->message, "; "));
        g_assert_nonnull(strstr(error->message, "--upstream-proxy=none"));
        g_assert_null(strstr(error->message, "s3cret"));
        g_clear_error(&error);
        upstream_proxy_free(upstream);
    }
    g_unsetenv("https_proxy");
}

static void test_option(void)
{
    g_assert_null(upstream_proxy_problem(NULL));
    g_assert_null(upstream_proxy_problem("none"));
    g_assert_null(upstream_proxy_problem("http://p:1"));
    g_assert_nonnull(strstr(upstream_proxy_problem("socks5://p"), "SOCKS"));
    g_assert_nonnull(
        strstr(upstream_proxy_problem("http://u:x@p:1"), "HTTPS_PROXY"));
    g_assert_nonnull(upstream_proxy_problem(""));
}

static void test_only_the_proxy_gets_credentials(void)
{
    struct upstream_proxy *upstream;
    json_t *list, *shown;
    char *text;

    expect(NULL, "HTTPS_PROXY=http://user:pass@s:1 http_proxy=http://h", "s",
           "h");
    upstream = upstream_proxy_new(NULL);
    list = upstream_proxy_to_json(upstream);
    text = json_dumps(list, JSON_SORT_KEYS | JSON_COMPACT);
    g_assert_cmpstr(text, ==,
                    "[{\"authorization\":\"Basic dXNlcjpwYXNz\",\"port\":1},"
                    "{\"authorization\":null,\"port\":80}]");
    free(text);
    json_decref(list);
    shown = upstream_proxy_describe(upstream);
    text = json_dumps(shown, JSON_SORT_KEYS | JSON_COMPACT);
    g_assert_cmpstr(text, ==,
                    "{\"http_url\":\"http://h:80\",\"url\":\"http://s:1\"}");
    free(text);
    json_decref(shown);
    upstream_proxy_free(upstream);

    expect(NULL, "http_proxy=h", NULL, "h");
    upstream = upstream_proxy_new(NULL);
    list = upstream_proxy_to_json(upstream);
    g_assert_true(json_is_null(json_array_get(list, 0)));
    json_decref(list);
    upstream_proxy_free(upstream);

    upstream = upstream_proxy_new("none");
    g_assert_true(json_is_null(upstream_proxy_describe(upstream)));
    upstream_proxy_free(upstream);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/upstream-proxy/good-urls", test_good_urls);
    g_test_add_func("/upstream-proxy/bad-urls", test_bad_urls);
    g_test_add_func("/upstream-proxy/no-proxy", test_no_proxy);
    g_test_add_func("/upstream-proxy/the-option-then-the-variables",
                    test_order);
    g_test_add_func("/upstream-proxy/problems-have-no-password",
                    test_problems_have_no_password);
    g_test_add_func("/upstream-proxy/the-option-has-no-password", test_option);
    g_test_add_func("/upstream-proxy/only-the-proxy-gets-credentials",
                    test_only_the_proxy_gets_credentials);
    return g_test_run();
}
