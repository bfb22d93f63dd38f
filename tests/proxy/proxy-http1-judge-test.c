/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy-http1-judge-test - which requests a relay of HTTP/1.x refuses, and the
 * secrets in what it relays.
 */
#include <glib.h>
#include <string.h>

#include "tests/proxy/relay_talk.h"

#define DELETE "DELETE /x HTTP/1.1\r\n" HOST

static const size_t sizes[] = { 100000, 1, 2, 3, 7 };

/* ---- the policy ---------------------------------------------------------- */

static void test_a_refused_request_keeps_the_connection(void)
{
    static const char *const bodies[] = {
        "\r\n",
        "Content-Length: 29\r\n\r\nGET /private HTTP/1.1\r\n\r\n1234",
        CHUNKED "\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(bodies) * G_N_ELEMENTS(sizes); i++) {
        const char *body = bodies[i / G_N_ELEMENTS(sizes)];
        g_autofree char *text = g_strconcat(DELETE, body, REQUEST, NULL);
        struct talk *talk = talk_both(talk_new(true), text, EMPTY,
                                      sizes[i % G_N_ELEMENTS(sizes)]);

        g_assert_cmpstr(talk->received[HTTP_SERVER]->str, ==, REQUEST);
        g_assert_true(g_str_has_prefix(talk->received[HTTP_GUEST]->str,
                                       "HTTP/1.1 403 Forbidden\r\n"));
        g_assert_true(g_str_has_suffix(talk->received[HTTP_GUEST]->str, EMPTY));
        g_assert_true(talk_has(talk->received[HTTP_GUEST], "Stepback refused"));
        g_assert_false(talk_has(talk->received[HTTP_GUEST], "close"));
        g_assert_cmpstr(talk->exchanges->str, ==,
                        "DELETE /x refused the network policy's entry "
                        "deny:DELETE:" NAME " forbids the request\n"
                        "GET /x 200\n");
        g_assert_false(talk_is_over(talk));
        talk_free(talk);
    }
}

static void test_paths_are_judged_without_the_query(void)
{
    struct talk *talk = talk_both(talk_new(true),
                                  "GET /x?/private HTTP/1.1\r\n" HOST "\r\n"
                                  "GET /private?x HTTP/1.1\r\n" HOST "\r\n"
                                  "GET /x/../private HTTP/1.1\r\n" HOST "\r\n",
                                  EMPTY, 1000);

    g_assert_cmpuint(talk_count(talk->received[HTTP_SERVER], "GET "), ==, 1);
    g_assert_cmpuint(talk_count(talk->received[HTTP_GUEST], " 403 "), ==, 2);
    g_assert_true(talk_has(talk->exchanges, "GET /private refused"));
    g_assert_true(talk_has(talk->exchanges, "GET /x/../private refused"));
    talk_free(talk);
}

/* A server that ignores a body takes it for the next request. */
static void test_a_request_with_a_body_is_the_last_one(void)
{
    static const char *const requests[] = {
        POST "Content-Length: 3\r\n\r\nabc",
        "post /x HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc",
        POST CHUNKED "Connection: keep-alive\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(requests) * 2; i++) {
        bool divides = i % 2;
        g_autofree char *text = g_strconcat(requests[i / 2], REQUEST, NULL);
        struct talk *talk = divides ? talk_new(true) : talk_new_whole(true);

        talk_send(talk, HTTP_GUEST, text, strlen(text), 1000);
        talk_send(talk, HTTP_SERVER, EMPTY, strlen(EMPTY), 1000);
        g_assert_true(divides == talk_has(talk->received[HTTP_SERVER],
                                          "Connection: close\r\n\r\n"));
        g_assert_true(divides == talk_has(talk->received[HTTP_GUEST],
                                          "Connection: close\r\n\r\n"));
        g_assert_true(divides != talk_has(talk->received[HTTP_SERVER], GET));
        g_assert_true(divides == talk_is_over(talk));
        talk_free(talk);
    }
}

/* The request has its response by then. */
static void test_refused_trailers_are_reported(void)
{
    struct talk *talk = talk_both(talk_new(true),
                                  POST CHUNKED "\r\n"
                                               "5\r\nhello\r\n",
                                  EMPTY, 1000);
    static const char trailer[] = "0\r\nAuthorization: " PLACE "\r\n\r\n";

    talk_send(talk, HTTP_GUEST, trailer, strlen(trailer), 1000);
    g_assert_cmpstr(talk->exchanges->str, ==,
                    "POST /x 200\nPOST /x refused a secret's placeholder is in "
                    "a trailer\n");
    talk_free(talk);
}

/* Servers differ in whether they take such a field for the request's own. */
static void test_other_methods_and_paths_are_judged(void)
{
    static const char *const bad[] = {
        "X-HTTP-Method-Override: delete", "x_http_method: DELETE",
        "X-Method-Override: DELETE",      "X-Original-URL: /private?x",
        "X-Rewrite-URL: /x/../private",   "X-HTTP-Method-Override: DELETE, x",
        "X-HTTP-Method-Override: TRACE",  "X-Original-URI: /private",
    };
    static const char *const good[] = {
        "X-HTTP-Method-Override: PUT",
        "X-HTTP-Method: GET",
        "X-Original: /private",
        "X-Original-URL: /x?/private",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *text = g_strconcat(POST, bad[i], "\r\n\r\n", NULL);
        struct talk *talk = talk_both(talk_new(true), text, "", 1000);

        g_assert_cmpstr(talk->received[HTTP_SERVER]->str, ==, "");
        g_assert_true(talk_has(talk->exchanges, "POST /x refused"));
        talk_free(talk);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        g_autofree char *text = g_strconcat(POST, good[i], "\r\n\r\n", NULL);
        struct talk *talk = talk_both(talk_new(true), text, EMPTY, 1000);

        g_assert_cmpstr(talk->exchanges->str, ==, "POST /x 200\n");
        talk_free(talk);
    }
}

static void test_many_methods_are_refused(void)
{
    GString *text = g_string_new(POST);
    struct talk *talk;

    for (unsigned i = 0; i < 5; i++)
        g_string_append(text, "X-Method-Override: PUT\r\n");
    g_string_append(text, "\r\n");
    talk = talk_both(talk_new(true), text->str, "", 1000);
    g_assert_cmpstr(talk->received[HTTP_SERVER]->str, ==, "");
    talk_free(talk);
    g_string_free(text, TRUE);
}

static void test_a_refusal_names_the_entry(void)
{
    struct talk *talk = talk_new(true);
    struct network_policy *policy = g_new0(struct network_policy, 1);
    g_autoptr(GError) error = NULL;

    policy->kind = NETWORK_ALLOW;
    network_policy_add(policy, "GET:" NAME, &error);
    g_assert_no_error(error);
    talk->context.policy = policy;
    talk_send(talk, HTTP_GUEST, POST "\r\n", strlen(POST "\r\n"), 1000);
    g_assert_true(talk_has(talk->received[HTTP_GUEST],
                           "Add POST:" NAME " to --network to allow it."));
    g_assert_true(talk_has(talk->exchanges, "[POST:" NAME "]"));
    talk_free(talk);
    g_free(policy);
}

static void test_a_refused_HEAD_has_no_body(void)
{
    struct talk *talk = talk_both(
        talk_new(true), "HEAD /private HTTP/1.1\r\n" HOST "\r\n" REQUEST, EMPTY,
        1000);

    g_assert_true(talk_has(talk->received[HTTP_GUEST], "403 Forbidden"));
    g_assert_false(talk_has(talk->received[HTTP_GUEST], "Stepback"));
    g_assert_true(talk_has(talk->received[HTTP_GUEST], "\r\n\r\n" EMPTY));
    talk_free(talk);
}

/* The guest may or may not send the body. */
static void test_a_refused_request_that_expects_100_ends(void)
{
    static const char *const requests[] = {
        DELETE "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n" REQUEST,
        "DELETE /x HTTP/1.0\r\n" HOST "\r\n" REQUEST,
        DELETE "Connection: close\r\n\r\n" REQUEST,
    };

    for (size_t i = 0; i < G_N_ELEMENTS(requests); i++) {
        struct talk *talk = talk_both(talk_new(true), requests[i], "", 1000);

        g_assert_cmpstr(talk->received[HTTP_SERVER]->str, ==, "");
        g_assert_true(talk_has(talk->received[HTTP_GUEST], "403 Forbidden"));
        g_assert_true(
            talk_has(talk->received[HTTP_GUEST], "Connection: close"));
        g_assert_true(talk->failed && talk_is_over(talk));
        g_assert_cmpuint(talk_count(talk->exchanges, "refused"), ==, 1);
        talk_free(talk);
    }
}

/* ---- secrets ------------------------------------------------------------- */

#define AUTH "Authorization: Bearer "

static void test_secrets_reach_the_server_alone(void)
{
    static const char response[] =
        "HTTP/1.1 200 " VALUE "\r\nX: a " VALUE "\r\nX-" VALUE ": y\r\n"
        "B: dXNlcjp2YWx1ZS1vZi10aGUtdG9rZW4=\r\n" CHUNKED "\r\n"
        "0\r\nX-Sum: " VALUE "\r\n\r\n";

    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        struct talk *talk = talk_both(
            talk_new(true), GET HOST AUTH PLACE "\r\n\r\n", response, sizes[i]);

        g_assert_cmpstr(talk->received[HTTP_SERVER]->str, ==,
                        GET HOST AUTH VALUE "\r\n\r\n");
        g_assert_false(talk_has(talk->received[HTTP_GUEST], VALUE));
        g_assert_false(talk_has(talk->received[HTTP_GUEST], "dXNlcjp2YW"));
        g_assert_cmpuint(talk_count(talk->received[HTTP_GUEST], PLACE), ==, 4);
        g_assert_true(
            talk_has(talk->received[HTTP_GUEST], "B: dXNlcjpzdGVwYmFj"));
        talk_free(talk);
    }
}

static void test_placeholders_elsewhere_are_refused(void)
{
    static const struct {
        const char *field, *reason;
        bool tls;
    } cases[] = {
        { AUTH OTHER, "another host", true },
        { "Cookie: a=" PLACE, "does not list", true },
        { AUTH PLACE, "without TLS", false },
        { "Authorization: Basic "
          "dXNlcjpzdGVwYmFjay1BQkNERUZHSElKS0xNTk9QUVJTVFVWV1g=",
          "another host", true },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = g_strconcat(GET HOST, cases[i].field,
                                            "\r\n\r\n" REQUEST, NULL);
        struct talk *talk = talk_both(talk_new(cases[i].tls), text, EMPTY,
                                      1000);

        g_assert_cmpstr(talk->received[HTTP_SERVER]->str, ==, REQUEST);
        g_assert_true(talk_has(talk->received[HTTP_GUEST], "403 Forbidden"));
        g_assert_true(talk_has(talk->exchanges, "GET /x refused a secret's"));
        g_assert_true(talk_has(talk->exchanges, cases[i].reason));
        g_assert_true(talk_has(talk->exchanges, "GET /x 200"));
        talk_free(talk);
    }
}

static void test_a_field_that_loses_its_name_is_left_out(void)
{
    static const char response[] = OK
        "Server: a secret\r\nContent-Length: 0\r\n\r\n";
    struct talk *talk = talk_new(true);
    json_t *list = json_pack("[{s:s, s:s, s:s, s:[s], s:[s]}]", "name", "A",
                             "placeholder", PLACE, "value", "Server: a secret",
                             "hosts", NAME, "headers", "a");

    g_assert_true(secrets_configure(talk->context.secrets, list, NULL));
    talk_send(talk, HTTP_GUEST, REQUEST, strlen(REQUEST), 1000);
    talk_send(talk, HTTP_SERVER, response, strlen(response), 1);
    g_assert_cmpstr(talk->received[HTTP_GUEST]->str, ==, EMPTY);
    json_decref(list);
    talk_free(talk);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/policy/a refused request keeps the connection",
                    test_a_refused_request_keeps_the_connection);
    g_test_add_func("/policy/paths are judged without the query",
                    test_paths_are_judged_without_the_query);
    g_test_add_func("/policy/a request with a body is the last one",
                    test_a_request_with_a_body_is_the_last_one);
    g_test_add_func("/secrets/refused trailers are reported",
                    test_refused_trailers_are_reported);
    g_test_add_func("/policy/fields with other methods and paths are judged",
                    test_other_methods_and_paths_are_judged);
    g_test_add_func("/policy/many fields with other methods are refused",
                    test_many_methods_are_refused);
    g_test_add_func("/policy/a refusal names the entry that would allow it",
                    test_a_refusal_names_the_entry);
    g_test_add_func("/policy/a refused HEAD has no body",
                    test_a_refused_HEAD_has_no_body);
    g_test_add_func("/policy/a refused request that expects 100 ends all",
                    test_a_refused_request_that_expects_100_ends);
    g_test_add_func("/secrets/they reach the server alone",
                    test_secrets_reach_the_server_alone);
    g_test_add_func("/secrets/a field that loses its name is left out",
                    test_a_field_that_loses_its_name_is_left_out);
    g_test_add_func("/secrets/placeholders elsewhere are refused",
                    test_placeholders_elsewhere_are_refused);
    return g_test_run();
}
