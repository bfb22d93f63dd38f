/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy-http1-test - what a relay of HTTP/1.x sends on to each side.
 */
#include <glib.h>
#include <string.h>

#include "tests/proxy/relay_talk.h"

#define CLOSE "Connection: close\r\n"
#define SAME  "same as sent"

/* More than the bytes of a step. */
enum { LONGEST = 160 };

struct exchange {
    const char *title;
    struct talk_step steps[TALK_STEPS];
    const char *to_server, *to_guest; /* SAME: all that the other side sent */
    const char *exchanges;
    bool over; /* both sides end */
};

/* ---- running ------------------------------------------------------------- */

static char *all_sent(const struct talk_step *steps, enum http_side side)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < TALK_STEPS && steps[i].is_set; i++) {
        if (steps[i].side == side && steps[i].text)
            g_string_append(text, steps[i].text);
    }
    return g_string_free(text, FALSE);
}

static void expect_text(const struct exchange *exchange, size_t size,
                        const char *what, const char *found, const char *wanted)
{
    if (strcmp(found, wanted) != 0)
        g_error("%s, in parts of %zu bytes: %s is\n%s\ninstead of\n%s",
                exchange->title, size, what, found, wanted);
}

static void run(const struct exchange *exchange, bool tls, size_t size)
{
    g_autofree char *from_guest = all_sent(exchange->steps, HTTP_GUEST);
    g_autofree char *from_server = all_sent(exchange->steps, HTTP_SERVER);
    struct talk *talk = talk_new_whole(tls);
    const struct http_relay_ops *ops = talk->relay->ops;

    talk_run(talk, exchange->steps, size);
    expect_text(exchange, size, "the server's input",
                talk->received[HTTP_SERVER]->str,
                strcmp(exchange->to_server, SAME) == 0 ? from_guest
                                                       : exchange->to_server);
    expect_text(exchange, size, "the guest's input",
                talk->received[HTTP_GUEST]->str,
                strcmp(exchange->to_guest, SAME) == 0 ? from_server
                                                      : exchange->to_guest);
    expect_text(exchange, size, "the report", talk->exchanges->str,
                exchange->exchanges);
    if (talk->failed)
        g_error("%s: %s", exchange->title, ops->problem(talk->relay));
    if (exchange->over != (ops->is_over(talk->relay, HTTP_GUEST) &&
                           ops->is_over(talk->relay, HTTP_SERVER)))
        g_error("%s, in parts of %zu bytes: the end is wrong", exchange->title,
                size);
    talk_free(talk);
}

/* The parts must make no difference: each step is divided behind each of its
 * bytes, and everywhere. */
static void run_all(const struct exchange *exchanges, size_t count, bool tls)
{
    for (size_t i = 0; i < count; i++) {
        run(&exchanges[i], tls, 100000);
        for (size_t size = 1; size < LONGEST; size++)
            run(&exchanges[i], tls, size);
    }
}

/* ---- requests and responses ---------------------------------------------- */

static const struct exchange plain[] = {
    { "a request and its response",
      { G(REQUEST), S(OK "Content-Length: 5\r\nX: y\r\n\r\nhello") },
      SAME,
      SAME,
      "GET /x 200\n",
      false },
    { "several requests",
      { G(REQUEST), S(EMPTY), G("HEAD /?q=1 HTTP/1.1\r\n" HOST "\r\n"),
        S(OK "Content-Length: 5\r\n\r\n"),
        G(POST "Content-Length: 3\r\n\r\nabc"),
        S("HTTP/1.1 404 \r\nContent-Length: 1\r\n\r\nx") },
      SAME,
      SAME,
      "GET /x 200\nHEAD / 200\nPOST /x 404\n",
      false },
    { "a field's whitespace, and numbers with zeros",
      { G("POST /x HTTP/1.1\r\nhost: \t " NAME
          " \t\r\nX:y\t \r\nE:\r\nContent-Length:  003\r\n\r\nabc"),
        S("HTTP/1.1 200\r\nA:b \r\ncontent-length: 01\r\n\r\nz") },
      "POST /x HTTP/1.1\r\nhost: " NAME
      "\r\nX: y\r\nE: \r\nContent-Length: 3\r\n\r\nabc",
      "HTTP/1.1 200 \r\nA: b\r\nContent-Length: 1\r\n\r\nz",
      "POST /x 200\n",
      false },
    { "chunks and trailers",
      { G(POST CHUNKED "\r\n0A\r\n0123456789\r\n000\r\nX-Sum: 1\r\n\r\n"),
        S(OK CHUNKED "\r\n5;ext=\"1\"\r\nhello\r\n1 \r\n!\r\n0;x\r\n"
                     "X-Sum:2\r\n\r\n") },
      POST CHUNKED "\r\na\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n",
      OK CHUNKED "\r\n5\r\nhello\r\n1\r\n!\r\n0\r\nX-Sum: 2\r\n\r\n",
      "POST /x 200\n",
      false },
    { "statuses without a body",
      { G(REQUEST), S("HTTP/1.1 204 No\r\n\r\n"), G(REQUEST),
        S("HTTP/1.1 304 No\r\nContent-Length: 9\r\n\r\n"),
        G("HEAD / HTTP/1.1\r\n" HOST "\r\n"), S(OK CHUNKED "\r\n"), G(REQUEST),
        S("HTTP/1.1 204 No\r\nContent-Length: 0\r\n\r\n") },
      SAME,
      SAME,
      "GET /x 204\nGET /x 304\nHEAD / 200\nGET /x 204\n",
      false },
    { "interim responses",
      { G(POST "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n"),
        S("HTTP/1.1 103 Hints\r\nLink: x\r\n\r\n"
          "HTTP/1.1 100 Continue\r\n\r\n"),
        G("abc"), S(EMPTY) },
      POST "Expect: 100-continue\r\nContent-Length: 3\r\n" CLOSE "\r\nabc",
      "HTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" OK
      "Content-Length: 0\r\n" CLOSE "\r\n",
      "POST /x 200\n",
      true },
    { "a final response instead of 100",
      { G(POST "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n"),
        S("HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n"), G("GET") },
      POST "Expect: 100-continue\r\nContent-Length: 3\r\n" CLOSE "\r\nGET",
      "HTTP/1.1 417 No\r\nContent-Length: 0\r\n" CLOSE "\r\n",
      "POST /x 417\n",
      true },
    { "a response that ends with the connection",
      { G(REQUEST), S(OK "\r\nall of this\r\n\r\n"), S("HTTP/1.1"), S_END },
      SAME,
      OK CLOSE "\r\nall of this\r\n\r\nHTTP/1.1",
      "GET /x 200\n",
      true },
    { "HTTP/1.0",
      { G("GET / HTTP/1.0\r\n" HOST "Connection: keep-alive\r\n\r\n"),
        S("HTTP/1.1 103 Hints\r\n\r\n"),
        S("HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n"
          "\r\nhi") },
      SAME,
      "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n" CLOSE "\r\nhi",
      "GET / 200\n",
      true },
    { "a server of HTTP/1.0",
      { G(REQUEST REQUEST), S("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n") },
      REQUEST,
      "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n" CLOSE "\r\n",
      "GET /x 200\n",
      true },
    { "a server of HTTP/1.0 that keeps the connection",
      { G(REQUEST REQUEST), S("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n"
                              "Connection: keep-alive\r\n\r\n") },
      SAME,
      SAME,
      "GET /x 200\n",
      false },
    { "Connection: close of a guest",
      { G(GET HOST "Connection:TE, close\t\r\n\r\n" REQUEST), S(EMPTY) },
      GET HOST CLOSE "\r\n",
      OK "Content-Length: 0\r\n" CLOSE "\r\n",
      "GET /x 200\n",
      true },
    { "Connection: close of a server",
      { G(REQUEST REQUEST), S(OK "Connection: Close\r\nContent-Length: 2\r\n"
                                 "\r\nhi") },
      REQUEST,
      OK "Content-Length: 2\r\n" CLOSE "\r\nhi",
      "GET /x 200\n",
      true },
    { "a method without a body that has one",
      { G(GET HOST "Content-Length: 3\r\nConnection: keep-alive\r\n\r\nabc"),
        S(EMPTY) },
      GET HOST "Content-Length: 3\r\n" CLOSE "\r\nabc",
      OK "Content-Length: 0\r\n" CLOSE "\r\n",
      "GET /x 200\n",
      true },
    { "a response before the request's end",
      { G(POST "Content-Length: 6\r\n\r\nabc"), S(EMPTY), G("def" REQUEST),
        S(EMPTY) },
      SAME,
      SAME,
      "POST /x 200\nGET /x 200\n",
      false },
    { "a stream of events",
      { G(REQUEST), S(OK CHUNKED "\r\n"), S("8\r\ndata: 1\n\r\n"),
        S("8\r\ndata: 2\n\r\n") },
      SAME,
      SAME,
      "GET /x 200\n",
      false },
    { "a guest that has sent all it will",
      { G(REQUEST), G_END, S(EMPTY) },
      SAME,
      SAME,
      "GET /x 200\n",
      true },
    { "a guest that ends within a head",
      { G(GET HOST), G_END },
      "",
      "",
      "",
      true },
    { "a guest that ends within a body",
      { G(POST "Content-Length: 6\r\n\r\nabc"), G_END, S(EMPTY) },
      SAME,
      SAME,
      "POST /x 200\n",
      true },
    { "a server that ends without a response",
      { G(REQUEST), S_END },
      SAME,
      "",
      "GET /x the server ended the connection without a response\n",
      true },
    { "a server that ends within a response",
      { G(REQUEST), S(OK "Content-Length: 9\r\n\r\nabc"), S_END },
      SAME,
      SAME,
      "GET /x 200\n",
      true },
    { "a server that ends between responses",
      { G(REQUEST), S(EMPTY), S_END },
      SAME,
      SAME,
      "GET /x 200\n",
      true },
};

static void test_requests_and_responses(void)
{
    run_all(plain, G_N_ELEMENTS(plain), true);
}

static void test_absolute_targets(void)
{
    static const struct exchange cases[] = {
        { "an absolute target",
          { G("GET http://" NAME ":80/a?b=/ HTTP/1.1\r\n" HOST "\r\n"),
            S(EMPTY), G("GET HTTP://" NAME "?b HTTP/1.1\r\n" HOST "\r\n"),
            S(EMPTY), G("GET http://" NAME " HTTP/1.1\r\n" HOST "\r\n"),
            S(EMPTY) },
          "GET /a?b=/ HTTP/1.1\r\n" HOST "\r\nGET /?b HTTP/1.1\r\n" HOST
          "\r\nGET / HTTP/1.1\r\n" HOST "\r\n",
          SAME,
          "GET /a 200\nGET / 200\nGET / 200\n",
          false },
    };

    run_all(cases, G_N_ELEMENTS(cases), false);
}

/* ---- order --------------------------------------------------------------- */

static void test_a_request_waits_for_the_response_before_it(void)
{
    static const char two[] = REQUEST POST "Content-Length: 3\r\n\r\nabc";
    struct talk *talk = talk_new_whole(true);

    talk_send(talk, HTTP_GUEST, two, strlen(two), 1000);
    g_assert_cmpstr(talk->received[HTTP_SERVER]->str, ==, REQUEST);
    g_assert_false(talk->relay->ops->wants(talk->relay, HTTP_GUEST));
    talk_send(talk, HTTP_SERVER, EMPTY, strlen(EMPTY), 1000);
    g_assert_cmpstr(talk->received[HTTP_SERVER]->str, ==, two);
    talk_send(talk, HTTP_SERVER, EMPTY, strlen(EMPTY), 1000);
    g_assert_cmpstr(talk->received[HTTP_GUEST]->str, ==, EMPTY EMPTY);
    talk_free(talk);
}

/* The number of a head that the relay waits for. */
static unsigned begun(struct talk *talk)
{
    return talk->relay->ops->begun_head(talk->relay);
}

static void test_a_begun_head_is_known(void)
{
    static const char part[] = "GET /x HTT", line[] = "P/1.1\r\n",
                      rest[] = HOST "\r\n";
    struct talk *talk = talk_new_whole(true);

    g_assert_cmpuint(begun(talk), ==, 0);
    for (unsigned i = 1; i < 3; i++) {
        talk_send(talk, HTTP_GUEST, part, strlen(part), 1);
        g_assert_cmpuint(begun(talk), ==, i);
        talk_send(talk, HTTP_GUEST, line, strlen(line), 1);
        g_assert_cmpuint(begun(talk), ==, i);
        talk_send(talk, HTTP_GUEST, rest, strlen(rest), 1);
        g_assert_cmpuint(begun(talk), ==, 0);
        talk_send(talk, HTTP_SERVER, EMPTY, strlen(EMPTY), 1000);
        g_assert_cmpuint(begun(talk), ==, 0);
    }
    /* One that must wait is not late. */
    talk_send(talk, HTTP_GUEST, REQUEST, strlen(REQUEST), 1000);
    talk_send(talk, HTTP_GUEST, part, strlen(part), 1000);
    g_assert_cmpuint(begun(talk), ==, 0);
    talk_send(talk, HTTP_SERVER, EMPTY, strlen(EMPTY), 1000);
    g_assert_cmpuint(begun(talk), ==, 4);
    talk_end(talk, HTTP_GUEST);
    g_assert_cmpuint(begun(talk), ==, 0);
    talk_free(talk);
}

/* The end of a guest that waits for a response must be noticed. */
static void test_a_guest_is_read_while_it_waits(void)
{
    struct talk *talk = talk_new_whole(true);

    talk_send(talk, HTTP_GUEST, REQUEST, strlen(REQUEST), 1000);
    g_assert_true(talk->relay->ops->wants(talk->relay, HTTP_GUEST));
    g_assert_true(talk->relay->ops->wants(talk->relay, HTTP_SERVER));
    talk_end(talk, HTTP_GUEST);
    g_assert_true(talk->relay->ops->is_over(talk->relay, HTTP_SERVER));
    g_assert_false(talk->relay->ops->is_over(talk->relay, HTTP_GUEST));
    talk_free(talk);
}

static void test_a_request_without_response_is_reported(void)
{
    struct talk *talk = talk_new_whole(true);

    talk_send(talk, HTTP_GUEST, REQUEST, strlen(REQUEST), 1000);
    g_assert_cmpstr(talk->exchanges->str, ==, "");
    talk->relay->ops->free(talk->relay);
    talk->relay = NULL;
    g_assert_cmpstr(talk->exchanges->str, ==,
                    "GET /x the connection ended without a response\n");
    talk_free(talk);
}

static void test_each_request_is_judged_by_the_current_policy(void)
{
    struct talk *talk = talk_new_whole(true);
    struct network_policy *none = g_new0(struct network_policy, 1);

    none->kind = NETWORK_DISABLED;
    talk_send(talk, HTTP_GUEST, REQUEST REQUEST, 2 * strlen(REQUEST), 1000);
    talk->context.policy = none;
    talk_send(talk, HTTP_SERVER, EMPTY, strlen(EMPTY), 1000);
    g_assert_cmpstr(talk->received[HTTP_SERVER]->str, ==, REQUEST);
    g_assert_nonnull(strstr(talk->exchanges->str, "GET /x refused"));
    talk_free(talk);
    g_free(none);
}

/* ---- WebSocket ----------------------------------------------------------- */

static const struct exchange upgrades[] = {
    { "an upgrade that is accepted",
      { G(UPGRADE "\1\2 before the answer"), S(SWITCHED "\3\4"),
        G("\5\r\n\r\n"), S(OK "\r\n"), S_END, G("more"), G_END },
      GET HOST "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
               "\1\2 before the answer\5\r\n\r\nmore",
      "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n"
      "Connection: Upgrade\r\n\r\n\3\4" OK "\r\n",
      "GET /x 101\n",
      true },
    { "an upgrade that is declined",
      { G(UPGRADE REQUEST), S(EMPTY), S(EMPTY) },
      SAME,
      SAME,
      "GET /x 200\nGET /x 200\n",
      false },
    { "an upgrade that is not the first request",
      { G(REQUEST UPGRADE), S(EMPTY), S(SWITCHED), S("\1") },
      REQUEST GET HOST "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
      SAME,
      "GET /x 200\nGET /x 101\n",
      false },
};

static void test_upgrades(void)
{
    /* Connection is written last, as it is there. */
    run_all(upgrades, G_N_ELEMENTS(upgrades), true);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/relay/requests and responses pass",
                    test_requests_and_responses);
    g_test_add_func("/relay/an absolute target becomes a path",
                    test_absolute_targets);
    g_test_add_func("/relay/a request waits for the response before it",
                    test_a_request_waits_for_the_response_before_it);
    g_test_add_func("/relay/a begun head is known", test_a_begun_head_is_known);
    g_test_add_func("/relay/a guest is read while it waits",
                    test_a_guest_is_read_while_it_waits);
    g_test_add_func("/relay/a request without response is reported",
                    test_a_request_without_response_is_reported);
    g_test_add_func("/relay/each request is judged by the current policy",
                    test_each_request_is_judged_by_the_current_policy);
    g_test_add_func("/relay/a WebSocket passes once it is accepted",
                    test_upgrades);
    return g_test_run();
}
