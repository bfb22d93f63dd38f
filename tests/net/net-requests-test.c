/* SPDX-License-Identifier: Apache-2.0
 *
 * net-requests-test - the HTTP requests that a network policy allows.
 */
#include <glib.h>

#include "common/network_policy.h"

/* Return a policy of a JSON list, to be freed with g_free(). */
static struct network_policy *policy_of(const char *list)
{
    struct network_policy *policy = g_new(struct network_policy, 1);
    g_autofree char *text = g_strdup_printf("{\"allow\":[%s]}", list);
    json_t *value = json_loads(text, 0, NULL);
    GError *error = NULL;

    network_policy_parse(value, policy, &error);
    g_assert_no_error(error);
    json_decref(value);
    return policy;
}

/* Whether a request is allowed, and by which entry it would be. */
static const struct {
    const char *name;
    unsigned port;
    const char *method, *path;
    bool allowed;
    const char *entry;
} requests[] = {
    /* "GET:m.org", "POST:m.org:8443" */
    { "m.org", 443, "GET", "/../%2e?\\", true, NULL },
    { "M.org.", 80, "GET", "*", true, NULL },
    { "m.org", 443, "POST", "/x", false, "POST:m.org" },
    { "m.org", 443, "get", "/x", false, NULL },
    { "m.org", 443, "GETT", "/x", false, NULL },
    { "m.org", 443, "", "/x", false, NULL },
    { "m.org", 8443, "POST", "/", true, NULL },
    { "m.org", 8443, "GET", "/", false, "GET:m.org:8443" },
    { "m.org", 22, "GET", "/", false, NULL },
    /* "p.org/v1", "PUT:p.org/v2/", "deny:p.org/v1/no", "deny:PUT:p.org/v2/x" */
    { "p.org", 443, "GET", "/v1", true, NULL },
    { "p.org", 443, "GET", "/v1/", true, NULL },
    { "p.org", 443, "GET", "/v1/a.b/..c/d;e%C3%BC", true, NULL },
    { "p.org", 443, "GET", "/%76%31/x", true, NULL },
    { "p.org", 443, "GET", "/v10", false, "GET:p.org/v10" },
    { "p.org", 443, "GET", "/V1", false, "GET:p.org/V1" },
    { "p.org", 443, "GET", "/v1;x", false, NULL },
    { "p.org", 443, "GET", "/v1%3Bx", false, NULL },
    { "p.org", 443, "PUT", "/v2/a", true, NULL },
    { "p.org", 443, "PUT", "/v2/", true, NULL },
    { "p.org", 443, "PUT", "/v2", false, "PUT:p.org/v2" },
    { "p.org", 443, "GET", "/v2/a", false, "GET:p.org/v2/a" },
    { "p.org", 443, "GET", "/v2/*", false, NULL },
    { "p.org", 443, "GET", "/v1/no", false, NULL },
    { "p.org", 443, "GET", "/v1/no/x", false, NULL },
    { "p.org", 443, "GET", "/v1/no.json", false, NULL },
    { "p.org", 443, "GET", "/v1/no%20", false, NULL },
    { "p.org", 443, "GET", "/v1/nono", true, NULL },
    { "p.org", 443, "GET", "/v1/%6Eo", false, NULL },
    { "p.org", 443, "GET", "/v1/NO;x", false, NULL },
    { "p.org", 443, "GET", "/v1/no%3bx", false, NULL },
    { "p.org", 443, "PUT", "/v2/X/y", false, NULL },
    { "p.org", 443, "GET", "/v1/../v2", false, NULL },
    { "p.org", 443, "GET", "/v1/.", false, NULL },
    { "p.org", 443, "GET", "/v1/..;x/a", false, NULL },
    { "p.org", 443, "GET", "/v1/..%3Bx/a", false, NULL },
    { "p.org", 443, "GET", "/v1/%2e%2e/a", false, NULL },
    { "p.org", 443, "GET", "/v1/%2E./a", false, NULL },
    { "p.org", 443, "GET", "/v1%2Fa", false, NULL },
    { "p.org", 443, "GET", "/v1/%5c..", false, NULL },
    { "p.org", 443, "GET", "/v1/%252e", false, NULL },
    { "p.org", 443, "GET", "/v1/\\x", false, NULL },
    { "p.org", 443, "GET", "//v1", false, NULL },
    { "p.org", 443, "GET", "/v1//x", false, NULL },
    { "p.org", 443, "GET", "/v1/;/x", false, NULL },
    { "p.org", 443, "GET", "/v1/%", false, NULL },
    { "p.org", 443, "GET", "/v1/%u006eo", false, NULL },
    { "p.org", 443, "GET", "/v1/%00", false, NULL },
    { "p.org", 443, "GET", "/v1/%0a", false, NULL },
    { "p.org", 443, "GET", "/v1/%c0%ae", false, NULL },
    { "p.org", 443, "GET", "/v1/%ff", false, NULL },
    { "p.org", 443, "GET", "/v1/\xc3\xbc", false, NULL },
    { "p.org", 443, "GET", "/v1/a b", false, NULL },
    { "p.org", 443, "GET", "/v1/a\tb", false, NULL },
    { "p.org", 443, "GET", "/v1/a#b", false, NULL },
    { "p.org", 443, "GET", "v1", false, NULL },
    { "p.org", 443, "GET", "", false, NULL },
    { "p.org", 443, "OPTIONS", "*", false, NULL },
    /* "a.w.org", "deny:PUT:*.w.org", "secret:a.w.org", "intercept:i.org" */
    { "a.w.org", 443, "GET", "/../x", true, NULL },
    { "a.w.org", 443, "PUT", "/", false, NULL },
    { "a.w.org", 443, "put", "/", false, NULL },
    { "b.w.org", 443, "GET", "/", false, NULL },
    { "i.org", 443, "PATCH", "//", true, NULL },
    { "", 443, "GET", "/", false, NULL },
};

static void test_requests(void)
{
    g_autofree struct network_policy *policy = policy_of(
        "\"GET:m.org\",\"POST:m.org:8443\",\"p.org/v1\","
        "\"PUT:p.org/v2/\",\"deny:p.org/v1/no\",\"deny:PUT:p.org/v2/x\","
        "\"a.w.org\",\"deny:PUT:*.w.org\",\"secret:a.w.org\","
        "\"intercept:i.org\"");

    for (size_t i = 0; i < G_N_ELEMENTS(requests); i++) {
        g_autofree char *entry = NULL;

        g_test_message("%s %s:%u%s", requests[i].method, requests[i].name,
                       requests[i].port, requests[i].path);
        g_assert_true(network_policy_judge_request(
                          policy, requests[i].name, requests[i].port,
                          requests[i].method, requests[i].path,
                          &entry) == requests[i].allowed);
        g_assert_cmpstr(entry, ==, requests[i].entry);
    }
}

static void test_exceptions(void)
{
    static const struct {
        const char *name, *method, *path, *rule;
        unsigned port;
    } cases[] = {
        { "p.org", "GET", "/v1/no/x", "deny:p.org/v1/no", 443 },
        { "P.org", "put", "/v2/X", "deny:PUT:p.org/v2/x", 443 },
        { "p.org", "GET", "/v2/x", NULL, 443 },
        { "p.org", "GET", "/v1/../no", NULL, 443 },
        { "p.org", NULL, NULL, NULL, 443 },
        { "a.w.org", NULL, NULL, "deny:*.w.org:25", 25 },
        { "a.w.org", NULL, NULL, NULL, 443 },
        { "a.w.org", NULL, NULL, "deny:*.w.org:25", 0 },
        { "d.org", "GET", "*", "deny:d.org", 80 },
        { "", NULL, NULL, NULL, 80 },
    };
    g_autofree struct network_policy *policy = policy_of(
        "\"p.org\",\"deny:p.org/v1/no\",\"deny:PUT:p.org/v2/x\","
        "\"deny:*.w.org:25\",\"deny:d.org\"");

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *rule = network_policy_find_exception(
            policy, cases[i].name, cases[i].port, cases[i].method,
            cases[i].path);

        g_assert_cmpstr(rule, ==, cases[i].rule);
    }
}

static void test_longest_request(void)
{
    g_autofree struct network_policy *policy = policy_of("\"p.org/v1\"");
    g_autofree char *most = g_strnfill(NETWORK_REQUEST_PATH_MAX - 4, 'x');
    g_autofree char *fits = g_strconcat("/v1/", most, NULL);
    g_autofree char *more = g_strconcat(fits, "x", NULL), *entry = NULL;

    g_assert_true(
        network_policy_judge_request(policy, "p.org", 80, "GET", fits, &entry));
    g_assert_false(
        network_policy_judge_request(policy, "p.org", 80, "GET", more, &entry));
    g_assert_null(entry);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/requests/are-judged-by-method-and-path", test_requests);
    g_test_add_func("/requests/exceptions-are-found", test_exceptions);
    g_test_add_func("/requests/have-a-bounded-path", test_longest_request);
    return g_test_run();
}
