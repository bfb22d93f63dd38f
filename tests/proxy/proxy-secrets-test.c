/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy-secrets-test - which secrets are put into requests, and taken out of
 * responses.
 */
#include <glib.h>
#include <string.h>

#include "common/errors.h"
#include "proxy/secrets.h"

#define HOST  "api.example.org"
#define PLACE "stepback-abcdefghijklmnopqrstuvwx"
#define VALUE "token/with+odd=bytes?"
#define OTHER "stepback-ABCDEFGHIJKLMNOPQRSTUVWX"

static const char config[] =
    "[{\"name\":\"TOKEN\",\"placeholder\":\"" PLACE "\",\"value\":\"" VALUE
    "\",\"hosts\":[\"API.example.org.\",\"*.example.net\"],"
    "\"headers\":[\"Authorization\",\"x-api-key\",\"x_key\"]},"
    "{\"name\":\"OTHER\",\"placeholder\":\"" OTHER
    "\",\"value\":\"the other value, longer than the first one\","
    "\"hosts\":[\"other.example.org\"],\"headers\":[\"x-api-key\"]}]";

static gboolean configure(struct secrets *secrets, const char *text,
                          GError **error)
{
    json_t *list = json_loads(text, JSON_DECODE_ANY, NULL);
    gboolean ok;

    g_assert_nonnull(list);
    ok = secrets_configure(secrets, list, error);
    json_decref(list);
    return ok;
}

static struct secrets *example(void)
{
    struct secrets *secrets = secrets_new();

    g_assert_true(configure(secrets, config, NULL));
    return secrets;
}

static char *base64(const char *text)
{
    return g_base64_encode((const guchar *)text, strlen(text));
}

/* ---- requests ------------------------------------------------------------ */

static void expect(const char *host, bool tls, const char *header,
                   const char *value, enum secrets_verdict wanted,
                   const char *text)
{
    struct secrets *secrets = example();
    GString *result = g_string_new("old");
    const char *reason = "";
    enum secrets_verdict verdict = secrets_put_in(
        secrets, host, tls, header, value, strlen(value), result, &reason);

    if (verdict != wanted)
        g_error("%s: %s: verdict %d, %s", header, value, verdict, reason);
    if (verdict == SECRETS_REPLACED)
        g_assert_cmpstr(result->str, ==, text);
    if (verdict == SECRETS_REFUSED && !strstr(reason, text))
        g_error("%s: %s: %s", header, value, reason);
    g_string_free(result, TRUE);
    secrets_free(secrets);
}

static void test_a_placeholder_becomes_the_value(void)
{
    expect(HOST, true, "Authorization", "Bearer " PLACE, SECRETS_REPLACED,
           "Bearer " VALUE);
    expect(HOST, true, "X-API-KEY", PLACE, SECRETS_REPLACED, VALUE);
    expect(HOST, true, "X_Key", PLACE, SECRETS_REPLACED, VALUE);
    expect("a.b.example.net", true, "x-api-key", PLACE PLACE "," PLACE,
           SECRETS_REPLACED, VALUE VALUE "," VALUE);
    expect(HOST, true, "Authorization", "Bearer x", SECRETS_NONE, "");
    expect(HOST, true, "Authorization", "", SECRETS_NONE, "");
    expect(HOST, false, "Cookie", "stepback-abc", SECRETS_NONE, "");
}

static void test_a_placeholder_elsewhere_is_refused(void)
{
    expect("evil.example", true, "Authorization", PLACE, SECRETS_REFUSED,
           "another host");
    expect("example.net", true, "Authorization", PLACE, SECRETS_REFUSED,
           "another host");
    expect(HOST, false, "Authorization", PLACE, SECRETS_REFUSED, "without TLS");
    expect(HOST, true, "Cookie", "a=" PLACE, SECRETS_REFUSED, "does not list");
    expect(HOST, true, "X-Api-Key", PLACE " " OTHER, SECRETS_REFUSED,
           "another host");
}

static void test_basic_credentials(void)
{
    g_autofree char *wanted = base64("user:" VALUE);
    g_autofree char *basic = base64("user:" PLACE);
    g_autofree char *text = g_strconcat("Basic ", basic, NULL);
    g_autofree char *loose = g_strconcat("bAsIc   ", basic, NULL);
    g_autofree char *result = g_strconcat("Basic ", wanted, NULL);

    expect(HOST, true, "Authorization", text, SECRETS_REPLACED, result);
    expect(HOST, true, "Authorization", loose, SECRETS_REPLACED, result);
    *strchrnul(loose, '=') = '\0';
    expect(HOST, true, "Authorization", loose, SECRETS_REPLACED, result);
    expect("evil.example", true, "Authorization", text, SECRETS_REFUSED,
           "another host");
    expect(HOST, true, "Cookie", text, SECRETS_REFUSED, "does not list");
    expect(HOST, true, "Authorization", "Basic dXNlcjp4", SECRETS_NONE, "");
    expect(HOST, true, "Authorization", "Basic \1 no", SECRETS_NONE, "");
    expect(HOST, true, "Authorization", "Basic ", SECRETS_NONE, "");
}

static void test_a_long_result_is_refused(void)
{
    g_autofree char *value = g_strnfill(SECRETS_VALUE_MAX, 'v');
    g_autofree char *text = g_strdup_printf(
        "[{\"name\":\"A\",\"placeholder\":\"" PLACE "\",\"value\":\"%s\","
        "\"hosts\":[\"" HOST "\"],\"headers\":[\"a\"]}]",
        value);
    struct secrets *secrets = secrets_new();
    GString *result = g_string_new(NULL);
    const char *reason;

    g_assert_true(configure(secrets, text, NULL));
    g_assert_cmpint(secrets_put_in(secrets, HOST, true, "a", PLACE PLACE,
                                   2 * strlen(PLACE), result, &reason),
                    ==, SECRETS_REPLACED);
    g_assert_cmpint(secrets_put_in(secrets, HOST, true, "a",
                                   PLACE PLACE PLACE PLACE PLACE,
                                   5 * strlen(PLACE), result, &reason),
                    ==, SECRETS_REFUSED);
    g_assert_nonnull(strstr(reason, "32 KiB"));
    g_string_free(result, TRUE);
    secrets_free(secrets);
}

/* ---- responses ----------------------------------------------------------- */

static char *take_out(const char *value)
{
    struct secrets *secrets = example();
    GString *result = g_string_new("old");
    bool changed = secrets_take_out(secrets, HOST, value, strlen(value),
                                    result);

    secrets_free(secrets);
    return g_string_free(result, !changed);
}

static void test_a_value_becomes_the_placeholder(void)
{
    g_autofree char *result = take_out("a " VALUE "; " VALUE VALUE);

    g_assert_cmpstr(result, ==, "a " PLACE "; " PLACE PLACE);
    g_assert_null(take_out("nothing of it: " PLACE " token/with+odd=bytes"));
    g_assert_null(take_out(""));
    g_assert_null(take_out("/a/b/c-d_e+f=, dXNlcjp4eHh4eHh4eHh4eHh4eHh4eHh4"));
}

static void test_a_percent_encoded_value(void)
{
    GString *encoded = g_string_new("/login?a=%0d%0Ab&token=");
    g_autofree char *result = NULL;

    for (const char *at = VALUE; *at; at++)
        g_string_append_printf(encoded, "%%%02x", *at);
    result = take_out(encoded->str);
    g_assert_cmpstr(result, ==, "/login?a=%0d%0Ab&token=" PLACE);
    g_string_free(encoded, TRUE);
}

/* Another host does not know the value: it would be a guess of the guest's. */
static void test_of_another_host_nothing_is_replaced(void)
{
    struct secrets *secrets = example();
    GString *result = g_string_new(NULL);

    g_assert_false(secrets_take_out(secrets, "elsewhere.example", VALUE,
                                    strlen(VALUE), result));
    g_string_free(result, TRUE);
    secrets_free(secrets);
}

/* Of both alphabets, whatever is before, behind and around the value. */
static void test_a_value_in_base64(void)
{
    for (unsigned before = 0; before < 5; before++) {
        for (unsigned bits = 0; bits < 16; bits++) {
            const char *around = bits & 8 ? "zz" : "";
            g_autofree char *head = g_strnfill(before, 'u');
            g_autofree char *plain = g_strconcat(head, VALUE,
                                                 bits & 4 ? ":x" : "", NULL);
            g_autofree char *text = base64(plain), *shown = NULL,
                            *result = NULL;
            g_autofree char *padded = NULL;
            g_autofree guchar *bytes = NULL;
            size_t size;

            if (bits & 1)
                g_strdelimit(g_strdelimit(text, "+", '-'), "/", '_');
            if (bits & 2)
                *strchrnul(text, '=') = '\0';
            shown = g_strdup_printf("k=\"%s%s\", x", around, text);
            result = take_out(shown);
            if (!result)
                g_error("%s is not found", shown);
            g_assert_true(g_str_has_prefix(result, "k=\""));
            g_assert_true(g_str_has_suffix(result, "\", x"));
            if (around[0])
                continue;
            *strrchr(result, '"') = '\0';
            g_strdelimit(g_strdelimit(result, "-", '+'), "_", '/');
            padded = g_strconcat(result + 3, "==", NULL);
            bytes = g_base64_decode(padded, &size);
            g_assert_true(g_str_has_prefix((char *)bytes + before, PLACE));
        }
    }
}

static void test_values_in_one_run(void)
{
    g_autofree char *one = base64("a" VALUE), *two = base64("bc" VALUE);
    g_autofree char *text = NULL, *result = NULL, *again = NULL;

    *strchrnul(one, '=') = '\0';
    text = g_strconcat(one, "/", two, "//", one, NULL);
    result = take_out(text);
    g_assert_nonnull(result);
    again = take_out(result);
    g_assert_null(again);
    g_assert_null(strstr(result, two));
}

static void test_many_values_in_one_run(void)
{
    g_autofree char *one = base64(VALUE VALUE VALUE), *result = NULL;
    GString *text = g_string_new(NULL);

    *strchrnul(one, '=') = '\0';
    for (unsigned i = 0; i < 1000; i++) {
        g_string_append(text, one);
        g_string_append_len(text, "////", i % 4);
    }
    result = take_out(text->str);
    g_assert_nonnull(result);
    g_assert_null(take_out(result));
    g_string_free(text, TRUE);
}

/* ---- configuration ------------------------------------------------------- */

#define SECRET(name, placeholder, value, hosts, headers)                       \
    "{\"name\":" name ",\"placeholder\":" placeholder ",\"value\":" value      \
    ",\"hosts\":" hosts ",\"headers\":" headers "}"
#define Q(text) "\"" text "\""

static void test_bad_lists(void)
{
    static const struct {
        const char *list, *problem;
    } cases[] = {
        { "{}", "must be a list" },
        { "[1]", "name" },
        { "[" SECRET("\"a b\"", Q(PLACE), Q(VALUE), "[\"a.b\"]", "[\"c\"]") "]",
          "name" },
        { "[" SECRET("\"A\"", "\"short\"", Q(VALUE), "[\"a.b\"]",
                     "[\"c\"]") "]",
          "placeholder" },
        { "[" SECRET("\"A\"", "\"with spaces in it\"", Q(VALUE), "[\"a.b\"]",
                     "[\"c\"]") "]",
          "placeholder" },
        { "[" SECRET("\"A\"", Q(PLACE), "\"1234567\"", "[\"a.b\"]",
                     "[\"c\"]") "]",
          "value" },
        { "[" SECRET("\"A\"", Q(PLACE), "\"12345678\\r\\n\"", "[\"a.b\"]",
                     "[\"c\"]") "]",
          "value" },
        { "[" SECRET("\"A\"", Q(PLACE), "\" 12345678\"", "[\"a.b\"]",
                     "[\"c\"]") "]",
          "value" },
        { "[" SECRET("\"A\"", Q(PLACE), "1", "[\"a.b\"]", "[\"c\"]") "]",
          "value" },
        { "[" SECRET("\"A\"", Q(PLACE), Q(VALUE), "[]", "[\"c\"]") "]",
          "hosts" },
        { "[" SECRET("\"A\"", Q(PLACE), Q(VALUE), "\"a.b\"", "[\"c\"]") "]",
          "hosts" },
        { "[" SECRET("\"A\"", Q(PLACE), Q(VALUE), "[\"a b\"]", "[\"c\"]") "]",
          "hosts" },
        { "[" SECRET("\"A\"", Q(PLACE), Q(VALUE), "[\"a.b\"]", "[\"a:b\"]") "]",
          "headers" },
        { "[" SECRET("\"A\"", Q(PLACE), Q(VALUE), "[\"a.b\"]",
                     "[\"HOST\"]") "]",
          "headers" },
        { "[" SECRET("\"A\"", Q(PLACE), Q(VALUE), "[\"a.b\"]",
                     "[\"a\"]") "," SECRET("\"B\"", Q(PLACE), "\"xxxxxxxx\"",
                                           "[\"a.b\"]", "[\"a\"]") "]",
          "placeholder" },
        { "[" SECRET("\"A\"", Q(PLACE), Q(PLACE), "[\"a.b\"]", "[\"a\"]") "]",
          "placeholder" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        struct secrets *secrets = example();
        GString *result = g_string_new(NULL);
        const char *reason;

        if (configure(secrets, cases[i].list, &error))
            g_error("accepted: %s", cases[i].list);
        g_assert_true(
            g_error_matches(error, STEPBACK_ERROR, ERROR_INVALID_FIELD));
        if (!strstr(error->message, cases[i].problem))
            g_error("%s: %s", error->message, cases[i].list);
        g_assert_null(strstr(error->message, VALUE));
        /* The former secrets stay. */
        g_assert_cmpint(secrets_put_in(secrets, HOST, true, "x-api-key", PLACE,
                                       strlen(PLACE), result, &reason),
                        ==, SECRETS_REPLACED);
        g_string_free(result, TRUE);
        secrets_free(secrets);
    }
}

static void test_a_list_replaces_the_former_one(void)
{
    struct secrets *secrets = example();
    GString *result = g_string_new(NULL);
    const char *reason;

    g_assert_true(configure(secrets, config, NULL));
    g_assert_true(configure(secrets, "[]", NULL));
    g_assert_cmpint(secrets_put_in(secrets, HOST, true, "x-api-key", PLACE,
                                   strlen(PLACE), result, &reason),
                    ==, SECRETS_NONE);
    g_assert_false(
        secrets_take_out(secrets, HOST, VALUE, strlen(VALUE), result));
    g_string_free(result, TRUE);
    secrets_free(secrets);
    secrets_free(NULL);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/request/a placeholder becomes the value",
                    test_a_placeholder_becomes_the_value);
    g_test_add_func("/request/a placeholder elsewhere is refused",
                    test_a_placeholder_elsewhere_is_refused);
    g_test_add_func("/request/Basic credentials are searched",
                    test_basic_credentials);
    g_test_add_func("/request/a long result is refused",
                    test_a_long_result_is_refused);
    g_test_add_func("/response/a value becomes the placeholder",
                    test_a_value_becomes_the_placeholder);
    g_test_add_func("/response/a percent-encoded value",
                    test_a_percent_encoded_value);
    g_test_add_func("/response/of another host nothing is replaced",
                    test_of_another_host_nothing_is_replaced);
    g_test_add_func("/response/Base64 of a value is found at any position",
                    test_a_value_in_base64);
    g_test_add_func("/response/several values in one run of Base64 are found",
                    test_values_in_one_run);
    g_test_add_func("/response/a run of many values is replaced as a whole",
                    test_many_values_in_one_run);
    g_test_add_func("/configure/bad lists are refused, and change nothing",
                    test_bad_lists);
    g_test_add_func("/configure/a list replaces the former one",
                    test_a_list_replaces_the_former_one);
    return g_test_run();
}
