/* SPDX-License-Identifier: Apache-2.0
 *
 * net-names-test - the names of a network policy: notation, errors, meaning.
 */
#include <glib.h>
#include <string.h>

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

static char *list_of(const struct network_policy *policy)
{
    json_t *value = network_policy_to_json(policy), *entry;
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    char *text;
    size_t i;

    json_array_foreach(json_object_get(value, "allow"), i, entry)
    {
        g_ptr_array_add(words, (char *)json_string_value(entry));
    }
    g_ptr_array_add(words, NULL);
    text = g_strjoinv(" ", (char **)words->pdata);
    json_decref(value);
    return text;
}

/* ---- notation ------------------------------------------------------------ */

static void test_normal_form(void)
{
    g_autofree struct network_policy *policy = policy_of(
        "\"API.Example.ORG.\",\"10.0.0.0/8\",\"*.b_c.d-e:5432\","
        "\"raw:x.example.org:22\",\"deny:*.ads.x.org\",\"deny:y.x.org:25\","
        "\"api.example.org\",\"[2001:db8::1]:80\",\"xn--bcher-kva.example\","
        "\"1.2.3.4.in-addr.arpa\",\"cafe.be\"");
    g_autofree char *text = list_of(policy);

    g_assert_cmpstr(
        text, ==,
        "10.0.0.0/8 [2001:db8::1]:80 api.example.org *.b_c.d-e:5432 "
        "raw:x.example.org:22 deny:*.ads.x.org deny:y.x.org:25 "
        "xn--bcher-kva.example 1.2.3.4.in-addr.arpa cafe.be");
    g_assert_true(network_policy_has_names(policy));
    g_assert_false(network_policy_is_wide(policy));
    g_assert_cmpint(sizeof(*policy), <=, 32768);
}

static void test_normal_form_of_requests(void)
{
    g_autofree struct network_policy *policy = policy_of(
        "\"GET:API.example.org/V1/a.b:c\",\"*.example.org:8443/v1.2\","
        "\"DELETE:api.example.org:81\",\"intercept:*.X.org:443\","
        "\"deny:PUT:y.example.org\",\"deny:y.example.org/\","
        "\"secret:y.example.org\",\"DEAD:BEEF::1\",\"VERSION-CONTROL:beef."
        "org\","
        "\"GET:API.example.org./V1/a.b:c\"");
    g_autofree char *text = list_of(policy);

    g_assert_cmpstr(
        text, ==,
        "dead:beef::1 GET:api.example.org/V1/a.b:c "
        "*.example.org:8443/v1.2 DELETE:api.example.org:81 "
        "intercept:*.x.org:443 deny:PUT:y.example.org deny:y.example.org/ "
        "secret:y.example.org VERSION-CONTROL:beef.org");
    g_assert_true(network_policy_intercepts(policy));
    g_free(policy);
    policy = policy_of("\"example.org\",\"raw:example.org:22\"");
    g_assert_false(network_policy_intercepts(policy));
}

#define L63 "a23456789-123456789-123456789-123456789-123456789-123456789-123"

static const struct {
    const char *entry;
    int column; /* 0: an error without one */
    const char *text;
} bad[] = {
    { "exa mple.org", 4, "letters, digits" },
    { "example.org/v1?x", 15, "? # " },
    { "example.org/%61", 13, "? # " },
    { "example.org/v1/../x", 16, "no segments '.'" },
    { "example.org//x", 13, "no '//'" },
    { "deny:GET:example.org/.", 22, "no segments '.'" },
    { "example.org:443x/v1", 13, "1 to 65535" },
    { "get:example.org", 1, "capital letters" },
    { "GET:localhost", 5, "two labels" },
    { "GET:1.2.3.4/v1", 5, "ends in a number" },
    { "GET:", 5, "missing" },
    { "deny:DELETE:10.0.0.0/8", 13, "excepts names only" },
    { "raw:GET:example.org:22", 5, "leave out raw:" },
    { "raw:example.org:22/v1", 19, "leave out raw:" },
    { "intercept:GET:example.org", 11, "leave it out" },
    { "intercept:example.org/v1", 22, "leave it out" },
    { "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEF:example.org", 1, "no method" },
    { "FOO:api.example.org/v1", 1, "use GET, HEAD" },
    { "DEAD:beef.org", 1, "no method" },
    { "deny:GETT:example.org", 6, "no method" },
    { "TRACE:example.org", 1, "but CONNECT and TRACE" },
    { "NPM:registry.example.org", 1, "no method" },
    { "Npm:registry.example.org", 1, "no method" },
    { "Get:example.org/v1", 1, "GET:example.org" },
    { "example.org/v1/*", 16, "leave it out" },
    { "GET:example.org/*", 17, "leave it out" },
    { "example.org/v*/x", 14, "leave it out" },
    { "example.org:443/tcp", 13, "without a protocol" },
    { "deny:*.example.org:53/UDP", 20, "without a protocol" },
    { "raw:example.org:22/tcp", 17, "without a protocol" },
    { "1.2.3.4:53/udp", 0, "leave it out, as in 1.2.3.4:53" },
    { "https://example.org:443/v1", 1, "only its name" },
    { "1.2.3.4:80/v1", 0, "not an address" },
    { "https://example.org", 1, "only its name" },
    { "*", 1, "whole first label" },
    { "a.*.org", 3, "whole first label" },
    { "*a.example.org", 1, "whole first label" },
    { "raw:*.*.example.org:22", 7, "whole first label" },
    { "b\xc3\xbc.example.org", 2, "A-labels" },
    { "a..org", 3, "empty" },
    { ".example.org", 1, "empty" },
    { "deny:*..example.org", 8, "empty" },
    { L63 "4.org", 64, "63 characters" },
    { L63 "." L63 "." L63 "." L63, 254, "253 characters" },
    { "localhost", 1, "10.0.2.2" },
    { "localhost.", 1, "10.0.2.2" },
    { "*.org", 3, "two labels" },
    { "*.org", 3, "too wide" },
    { "deny:*.com.:80", 8, "too wide" },
    { "raw:22", 5, "ends in a number" },
    { "*", 1, "use open for all names" },
    { "raw:1.2.3.4", 5, "ends in a number" },
    { "deny:1.2.3.4", 6, "excepts names only, not addresses; remove" },
    { "deny:10.0.0.0/8", 6, "excepts names only" },
    { "deny:[fd00::1]:80", 6, "excepts names only" },
    { "deny:fd00:1::1", 6, "excepts names only" },
    { "deny:", 6, "missing" },
    { "deny:*.:80", 8, "missing" },
    { "example.org:", 13, "1 to 65535" },
    { "example.org:0", 13, "1 to 65535" },
    { "example.org:65536", 13, "1 to 65535" },
    { "example.org:80x", 13, "1 to 65535" },
    { "raw:example.org:1:2", 17, "1 to 65535" },
    { "raw:example.org", 16, "needs a port" },
    { "1.2.3.999", 0, "not an address" },
    { "example.0x1f", 0, "not an address" },
    { "example.org:1:2", 0, "not an address" },
    { "ask:", 5, "missing" },
    { "ask:GET:example.org", 5, "leave out ask: or the method" },
    { "ask:example.org/v1", 16, "leave out ask: or the path" },
    { "ask:*/v1", 6, "leave out ask: or the path" },
    { "ask:*:0", 7, "1 to 65535" },
    { "ask:*.*", 7, "whole first label" },
    { "ask:*.org", 7, "too wide" },
    { "ask:**", 5, "whole first label" },
    { "ask:raw:example.org:22", 5, "exclude each other" },
    { "ask:1.2.3.4", 5, "ends in a number" },
    { "deny:*", 6, "whole first label" },
    { "", 0, "not an address" },
    { "a\nb.example.org", 2, "'a?b.example.org'" },
};

static void test_errors(void)
{
    g_autofree struct network_policy *policy = policy_of("");

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *column = g_strdup_printf("', column %d: ",
                                                  bad[i].column);
        g_autoptr(GError) error = NULL;

        g_test_message("%s", bad[i].entry);
        g_assert_false(network_policy_add(policy, bad[i].entry, &error));
        g_test_message("%s", error->message);
        g_assert_nonnull(strstr(error->message, bad[i].text));
        g_assert_true(bad[i].column == 0 || strstr(error->message, column));
    }
    g_assert_false(network_policy_has_names(policy));
}

static void test_longest_path(void)
{
    g_autofree struct network_policy *policy = policy_of("");
    g_autofree char *most = g_strnfill(NETWORK_PATH_MAX - 1, 'x');
    g_autofree char *fits = g_strconcat("example.org/", most, NULL);
    g_autofree char *more = g_strconcat(fits, "x", NULL);
    g_autoptr(GError) error = NULL;

    g_assert_true(network_policy_add(policy, fits, NULL));
    g_assert_false(network_policy_add(policy, more, &error));
    g_assert_nonnull(strstr(error->message, "255 characters"));
}

static const struct {
    const char *forcing, *raw;
    bool exclude;
} pairs[] = {
    { "intercept:a.example.org", "raw:a.example.org:443", true },
    { "intercept:a.example.org", "raw:a.example.org:22", false },
    { "intercept:a.example.org:22", "raw:a.example.org:22", true },
    { "secret:a.example.org", "raw:a.example.org:80", true },
    { "deny:PUT:a.example.org", "raw:a.example.org:22", true },
    { "deny:a.example.org:443/v1", "raw:a.example.org:22", false },
    { "deny:a.example.org", "raw:a.example.org:22", false },
    { "intercept:*.example.org", "raw:a.example.org:443", true },
    { "intercept:*.example.org", "raw:*.example.org:443", true },
    { "intercept:a.example.org", "raw:*.example.org:443", false },
    { "GET:a.example.org", "raw:a.example.org:443", false },
};

static void test_raw_and_interception(void)
{
    for (size_t i = 0; i < 2 * G_N_ELEMENTS(pairs); i++) {
        const char *entries[] = { pairs[i / 2].forcing, pairs[i / 2].raw };
        g_autofree struct network_policy *policy = policy_of("");
        g_autoptr(GError) error = NULL;

        g_test_message("%s %s", entries[0], entries[1]);
        g_assert_true(network_policy_add(policy, entries[i % 2], NULL));
        g_assert_true(network_policy_add(policy, entries[1 - i % 2], &error) !=
                      pairs[i / 2].exclude);
        g_assert_true(!error || (strstr(error->message, entries[0]) &&
                                 strstr(error->message, entries[1])));
        g_assert_cmpuint(policy->names.count, ==, error ? 1 : 2);
    }
}

static void test_longest_names(void)
{
    g_autofree struct network_policy *policy = policy_of("");
    g_autofree char *whole = g_strdup_printf("%s.%s.%s.%.61s.", L63, L63, L63,
                                             L63);
    g_autoptr(GError) error = NULL;

    g_assert_cmpuint(strlen(whole), ==, NETWORK_NAME_MAX + 1);
    network_policy_add(policy, whole, &error);
    g_assert_no_error(error);
    g_assert_true(network_policy_lists_name(policy, whole));
}

static void test_limits(void)
{
    g_autofree struct network_policy *policy = policy_of("");
    g_autofree char *deep = g_strdup_printf("%s.%s.%s.x", L63, L63, L63);
    g_autoptr(GError) error = NULL, room = NULL;
    unsigned count = 0;

    for (unsigned i = 0; i < NETWORK_NAMES_MAX; i++) {
        g_autofree char *name = g_strdup_printf("n%u.example.org", i);

        g_assert_true(network_policy_add(policy, name, NULL));
        g_assert_true(network_policy_add(policy, name, NULL));
    }
    g_assert_false(network_policy_add(policy, "more.example.org", &error));
    g_assert_nonnull(strstr(error->message, "256 names"));
    g_free(policy);
    policy = policy_of("");
    while (!room) {
        g_autofree char *name = g_strdup_printf("n%u.%s", count, deep);

        count += network_policy_add(policy, name, &room);
    }
    g_assert_cmpuint(count, >, 70);
    g_assert_cmpuint(count, <, 90);
    g_assert_true(network_policy_add(policy, "deny:n0.x.org", NULL));
}

/* ---- meaning ------------------------------------------------------------- */

#define JUDGE(policy, name, port, verdict)                                     \
    g_assert_cmpint(network_policy_judge_name(policy, name, port), ==, verdict)

static void test_verdicts(void)
{
    g_autofree struct network_policy *policy = policy_of(
        "\"api.example.org\",\"*.example.org:5432\",\"raw:s.example.org:22\","
        "\"*.x.org\",\"deny:ads.x.org\",\"deny:*.no.x.org\",\"ads.x.org\","
        "\"deny:mail.x.org:80\"");

    JUDGE(policy, "api.example.org", 80, NAME_WEB);
    JUDGE(policy, "API.example.org.", 443, NAME_WEB);
    JUDGE(policy, "api.example.org", 22, NAME_DENIED);
    JUDGE(policy, "api.example.org", 5432, NAME_PORT);
    JUDGE(policy, "s.example.org", 22, NAME_RAW);
    JUDGE(policy, "s.example.org", 80, NAME_DENIED);
    JUDGE(policy, "example.org", 5432, NAME_DENIED);
    JUDGE(policy, "notexample.org", 5432, NAME_DENIED);
    JUDGE(policy, "a.b.example.org", 5432, NAME_PORT);
    JUDGE(policy, "ads.x.org", 443, NAME_DENIED);
    JUDGE(policy, "a.ads.x.org", 443, NAME_WEB);
    JUDGE(policy, "no.x.org", 443, NAME_WEB);
    JUDGE(policy, "a.no.x.org", 443, NAME_DENIED);
    JUDGE(policy, "mail.x.org", 80, NAME_DENIED);
    JUDGE(policy, "mail.x.org", 443, NAME_WEB);
    JUDGE(policy, "", 443, NAME_DENIED);
    JUDGE(policy, ".", 443, NAME_DENIED);
    JUDGE(policy, "a b.x.org", 443, NAME_DENIED);
}

static void test_most_permissive_entry(void)
{
    g_autofree struct network_policy *policy = policy_of(
        "\"raw:a.example.org:443\",\"*.example.org\",\"b.example.org:443\"");

    JUDGE(policy, "a.example.org", 443, NAME_RAW);
    JUDGE(policy, "b.example.org", 443, NAME_WEB);
    JUDGE(policy, "c.example.org", 443, NAME_WEB);
}

static void test_interception(void)
{
    g_autofree struct network_policy *policy = policy_of(
        "\"*.example.org\",\"b.example.org:5432\",\"GET:a.org\","
        "\"b.org/v1\",\"b.org:443\",\"intercept:c.example.org\","
        "\"deny:PUT:b.example.org\",\"deny:d.org/x\",\"secret:s.org\","
        "\"s.org:80\",\"s.org:8080\",\"secret:t.org\","
        "\"raw:*.raw.org:443\",\"intercept:a.raw.org\"");

    JUDGE(policy, "a.example.org", 443, NAME_WEB);
    JUDGE(policy, "b.example.org", 443, NAME_INTERCEPT);
    JUDGE(policy, "b.example.org", 5432, NAME_INTERCEPT);
    JUDGE(policy, "c.example.org", 80, NAME_INTERCEPT);
    JUDGE(policy, "c.example.org", 22, NAME_DENIED);
    JUDGE(policy, "a.org", 443, NAME_INTERCEPT);
    JUDGE(policy, "a.org", 8443, NAME_DENIED);
    JUDGE(policy, "b.org", 80, NAME_INTERCEPT);
    JUDGE(policy, "b.org", 443, NAME_WEB);
    JUDGE(policy, "d.org", 443, NAME_DENIED);
    JUDGE(policy, "s.org", 80, NAME_INTERCEPT);
    JUDGE(policy, "s.org", 443, NAME_DENIED);
    JUDGE(policy, "s.org", 8080, NAME_PORT);
    JUDGE(policy, "t.org", 443, NAME_DENIED);
    JUDGE(policy, "a.raw.org", 443, NAME_INTERCEPT);
    JUDGE(policy, "b.raw.org", 443, NAME_RAW);
    g_assert_true(network_policy_lists_name(policy, "a.org"));
    g_assert_false(network_policy_lists_name(policy, "t.org"));
    g_assert_false(network_policy_lists_name(policy, "d.org"));
    g_assert_true(network_policy_excepts_name(policy, "d.org"));
}

static void test_kinds(void)
{
    g_autofree struct network_policy *policy = policy_of("\"10.0.0.0/8\"");
    json_t *open = json_string("open");

    JUDGE(policy, "a.example.org", 443, NAME_DENIED);
    g_assert_false(network_policy_has_names(policy));
    g_assert_true(network_policy_parse(open, policy, NULL));
    JUDGE(policy, "a.example.org", 1, NAME_RAW);
    g_assert_false(network_policy_lists_name(policy, "a.example.org"));
    json_decref(open);
}

static void test_ask(void)
{
    g_autofree struct network_policy *policy = policy_of(
        "\"ask:*\",\"ASK.example.org\",\"ask:*.example.org:22\","
        "\"ask:*:8443\",\"raw:r.example.org:22\",\"GET:g.example.org\","
        "\"deny:no.example.org\",\"deny:*.off.org:443\",\"secret:s.org\","
        "\"ask:*\"");
    g_autofree char *list = list_of(policy), *allow = NULL;

    g_assert_true(g_str_has_prefix(list, "ask:* ask.example.org "
                                         "ask:*.example.org:22 ask:*:8443 "));
    JUDGE(policy, "other.org", 80, NAME_ASK);
    JUDGE(policy, "other.org", 443, NAME_ASK);
    JUDGE(policy, "other.org", 8443, NAME_ASK);
    JUDGE(policy, "other.org", 22, NAME_DENIED);
    JUDGE(policy, "localhost", 80, NAME_DENIED);
    JUDGE(policy, "x.0x1f", 80, NAME_DENIED);
    JUDGE(policy, "ask.example.org", 443, NAME_WEB);
    JUDGE(policy, "ask.example.org", 22, NAME_ASK);
    JUDGE(policy, "r.example.org", 22, NAME_RAW);
    JUDGE(policy, "g.example.org", 443, NAME_INTERCEPT);
    JUDGE(policy, "no.example.org", 443, NAME_DENIED);
    JUDGE(policy, "no.example.org", 22, NAME_DENIED);
    JUDGE(policy, "a.off.org", 443, NAME_DENIED);
    JUDGE(policy, "a.off.org", 80, NAME_ASK);
    JUDGE(policy, "s.org", 443, NAME_ASK);
    g_assert_true(network_policy_lists_name(policy, "other.org"));
    g_assert_false(network_policy_allows_name(policy, "other.org"));
    g_assert_true(network_policy_allows_name(policy, "ask.example.org"));
    g_assert_false(network_policy_lists_name(policy, "no.example.org"));
    g_assert_false(network_policy_lists_name(policy, "localhost"));
    g_assert_true(network_policy_has_below(policy, "no.example.org"));
    g_assert_true(network_policy_has_below(policy, "org"));
    /* One method is listed; another one is not asked for. */
    g_assert_false(network_policy_judge_request(policy, "g.example.org", 443,
                                                "PUT", "/", &allow));
}

static void test_allowed_by_a_user(void)
{
    g_autofree struct network_policy *policy = policy_of(
        "\"ask:*\",\"ask:*:22\",\"secret:s.org\",\"deny:PUT:p.org\","
        "\"deny:no.org\"");
    char *allow;

#define ALLOWED(name, port, verdict)                                           \
    g_assert_cmpint(network_policy_judge_allowed(policy, name, port), ==,      \
                    verdict)
    ALLOWED("a.org", 443, NAME_WEB);
    ALLOWED("a.org", 80, NAME_WEB);
    ALLOWED("a.org", 22, NAME_PORT);
    ALLOWED("a.org", 23, NAME_DENIED);
    ALLOWED("s.org", 443, NAME_INTERCEPT);
    ALLOWED("p.org", 443, NAME_INTERCEPT);
    ALLOWED("no.org", 443, NAME_DENIED);
    g_assert_true(
        network_policy_judge_request(policy, "s.org", 443, "GET", "/", &allow));
    g_assert_true(
        network_policy_judge_request(policy, "p.org", 443, "GET", "/", &allow));
    g_assert_false(
        network_policy_judge_request(policy, "p.org", 443, "PUT", "/", &allow));
    g_assert_false(
        network_policy_judge_request(policy, "a.org", 23, "GET", "/", &allow));
}

static void test_resolution(void)
{
    g_autofree struct network_policy *policy = policy_of(
        "\"a.b.example.org:22\",\"*.x.org\",\"deny:ads.x.org\","
        "\"deny:*.no.x.org\",\"deny:half.x.org:80\",\"deny:off.x.org:80\","
        "\"deny:off.x.org:443\",\"deny:gone.y.org\",\"gone.y.org\"");
    static const char *const listed[] = { "a.b.example.org", "q.x.org",
                                          "half.x.org", "no.x.org",
                                          "A.Ads.x.org." };
    static const char *const below[] = { "b.example.org", "example.org",
                                         "ORG",           "x.org",
                                         "ads.x.org",     "off.x.org" };
    static const char *const neither[] = { "example.com",
                                           "no.x.org.z",
                                           "a.no.x.org",
                                           "gone.y.org",
                                           "y.org",
                                           "rg",
                                           "" };

    for (size_t i = 0; i < G_N_ELEMENTS(listed); i++)
        g_assert_true(network_policy_lists_name(policy, listed[i]));
    for (size_t i = 0; i < G_N_ELEMENTS(below); i++) {
        g_assert_true(network_policy_has_below(policy, below[i]));
        g_assert_false(network_policy_lists_name(policy, below[i]));
    }
    for (size_t i = 0; i < G_N_ELEMENTS(neither); i++) {
        g_assert_false(network_policy_has_below(policy, neither[i]));
        g_assert_false(network_policy_lists_name(policy, neither[i]));
    }
    g_assert_false(network_policy_has_below(policy, "no.x.org"));
    g_assert_true(network_policy_excepts_name(policy, "half.x.org"));
    g_assert_true(network_policy_excepts_name(policy, "gone.y.org"));
    g_assert_false(network_policy_excepts_name(policy, "no.x.org"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/names/have-one-normal-form", test_normal_form);
    g_test_add_func("/names/errors-have-column-and-remedy", test_errors);
    g_test_add_func("/names/requests-have-one-normal-form",
                    test_normal_form_of_requests);
    g_test_add_func("/names/path-of-255-characters-fits", test_longest_path);
    g_test_add_func("/names/raw-and-interception-exclude-each-other",
                    test_raw_and_interception);
    g_test_add_func("/names/interception", test_interception);
    g_test_add_func("/names/253-characters-fit", test_longest_names);
    g_test_add_func("/names/number-and-text-are-bounded", test_limits);
    g_test_add_func("/names/exceptions-win", test_verdicts);
    g_test_add_func("/names/most-permissive-entry-applies",
                    test_most_permissive_entry);
    g_test_add_func("/names/other-kinds-of-policy", test_kinds);
    g_test_add_func("/names/ask-holds-what-no-entry-allows", test_ask);
    g_test_add_func("/names/ask-is-replaced-by-a-decision",
                    test_allowed_by_a_user);
    g_test_add_func("/names/resolution", test_resolution);
    return g_test_run();
}
