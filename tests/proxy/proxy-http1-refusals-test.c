/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy-http1-refusals-test - what a relay of HTTP/1.x refuses as malformed,
 * and how.
 */
#include <glib.h>
#include <string.h>

#include "proxy/http_requests.h"
#include "tests/proxy/relay_talk.h"

static const size_t sizes[] = { 100000, 1, 2, 3, 7 };

/* ---- malformed requests -------------------------------------------------- */

/* Nothing of the bad part reaches the server; what is before it does. */
static const struct {
    const char *good, *bad, *reason;
} bad_requests[] = {
    { "", "GET / HTTP/1.1\nHost: " NAME "\n\n", "CR LF" },
    { "", GET HOST "X: a\rb\r\n\r\n", "CR LF" },
    { "", GET HOST "\n", "CR LF" },
    { "", GET HOST " folded\r\n\r\n", "folded" },
    { "", GET HOST "Content-Length : 5\r\n\r\n", "malformed" },
    { "", GET "Host: evil.example\r\n\r\n",
      "another host than its connection (evil.example)" },
    { "", GET "\r\n", "no Host" },
    { "", GET HOST HOST "\r\n", "two Host" },
    { "", "GET /x#/y HTTP/1.1\r\n" HOST "\r\n", "must be a path" },
    { "", "GET http://" NAME "/ HTTP/1.1\r\n" HOST "\r\n", "must be a path" },
    { "", "GET https://" NAME "/ HTTP/1.1\r\n" HOST "\r\n", "must be a path" },
    { "", "CONNECT " NAME ":443 HTTP/1.1\r\n" HOST "\r\n", "CONNECT" },
    { "", "TRACE / HTTP/1.1\r\n" HOST "\r\n", "TRACE" },
    { "", "track / HTTP/1.1\r\n" HOST "\r\n", "TRACE" },
    { "",
      "MMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMM / "
      "HTTP/1.1\r\n" HOST "\r\n",
      "method is too long" },
    { "", "PRI * HTTP/2.0\r\n\r\n", "HTTP/2" },
    { "", "\r\n" REQUEST, "request line" },
    { "", GET HOST "Upgrade: h2c\r\n\r\n", "WebSocket" },
    { "", "GET / HTTP/1.0\r\n" HOST "Upgrade: websocket\r\n\r\n", "HTTP/1.1" },
    { "", POST "Content-Length: 5\r\n" CHUNKED "\r\n0\r\n\r\n", "ambiguous" },
    { "", POST CHUNKED "Content-Length: 5\r\n\r\n0\r\n\r\n", "ambiguous" },
    { "", POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n",
      "two Content" },
    { "", POST "Content-Length: 5, 5\r\n\r\n", "Content-Length" },
    { "", POST "Content-Length: +5\r\n\r\n", "Content-Length" },
    { "", POST "Transfer-Encoding: gzip, chunked\r\n\r\n", "Encoding" },
    { "", POST "Transfer-Encoding: xchunked\r\n\r\n", "Encoding" },
    { "", POST CHUNKED CHUNKED "\r\n", "Encoding" },
    { "", POST "Transfer_Encoding: chunked\r\n\r\n", "underscore" },
    { "", GET HOST "Connection: Transfer-Encoding\r\n\r\n", "Connection" },
    { POST CHUNKED "\r\n", "5;x=y\r\nhello\r\n0\r\n\r\n", "chunk's size" },
    { POST CHUNKED "\r\n", "5 \r\nhello", "chunk's size" },
    { POST CHUNKED "\r\n", "5\nhello", "CR LF" },
    { POST CHUNKED "\r\n", "0x5\r\nhello", "chunk's size" },
    { POST CHUNKED "\r\n", "-1\r\n", "chunk's size" },
    { POST CHUNKED "\r\n", "\r\n", "chunk's size" },
    { POST CHUNKED "\r\n", "0000000000000005\r\nhello", "chunk's size" },
    { POST CHUNKED "\r\n", "ffffffffffffffffff\r\n", "too long" },
    { POST CHUNKED "\r\n5\r\nhello", "!\r\n0\r\n\r\n", "longer than" },
    { POST CHUNKED "\r\n5\r\nhello", "\n0\r\n\r\n", "longer than" },
    { POST CHUNKED "\r\n5\r\nhello\r\n", "0\r\nHost: x\r\n\r\n", "trailer" },
    { POST CHUNKED "\r\n5\r\nhello\r\n", "0\r\nA: " PLACE "\r\n\r\n",
      "placeholder is in a trailer" },
    { POST CHUNKED "\r\n", "0\r\nAuthorization: " PLACE "\r\n\r\n",
      "placeholder is in a trailer" },
    { POST CHUNKED "\r\n", "0\r\nX-HTTP-Method: DELETE\r\n\r\n",
      "another method" },
    { POST CHUNKED "\r\n", "0\r\nX: y\n\r\n", "CR LF" },
};

static void test_malformed_requests_end_the_connection(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(bad_requests) * G_N_ELEMENTS(sizes);
         i++) {
        const char *good = bad_requests[i / G_N_ELEMENTS(sizes)].good;
        const char *bad = bad_requests[i / G_N_ELEMENTS(sizes)].bad;
        const char *reason = bad_requests[i / G_N_ELEMENTS(sizes)].reason;
        g_autofree char *text = g_strconcat(good, bad, REQUEST, NULL);
        struct talk *talk = talk_both(talk_new_whole(true), text, "",
                                      sizes[i % G_N_ELEMENTS(sizes)]);
        const char *problem = talk->relay->ops->problem(talk->relay);

        if (!talk->failed || !strstr(problem, reason))
            g_error("%s: %s", problem, text);
        g_assert_cmpstr(talk->received[HTTP_SERVER]->str, ==, good);
        g_assert_cmpuint(
            talk_count(talk->received[HTTP_GUEST], "403 Forbidden"), ==, 1);
        g_assert_true(
            talk_has(talk->received[HTTP_GUEST], "Connection: close"));
        g_assert_true(talk_is_over(talk));
        g_assert_false(talk_has(talk->exchanges, "200"));
        talk_free(talk);
    }
}

static void test_long_heads(void)
{
    GString *head = g_string_new(GET HOST "X: ");
    struct talk *talk;

    while (head->len < HTTP_HEAD_MAX - 4)
        g_string_append_c(head, 'y');
    g_string_append(head, "\r\n\r\n");
    talk = talk_both(talk_new_whole(true), head->str, EMPTY, 100000);
    g_assert_cmpstr(talk->exchanges->str, ==, "GET /x 200\n");
    talk_free(talk);
    /* The last line would fit, the empty one does not. */
    g_string_insert(head, (gssize)head->len - 4, "y");
    talk = talk_both(talk_new_whole(true), head->str, EMPTY, 1000);
    g_assert_true(talk->failed &&
                  talk_has(talk->received[HTTP_GUEST], "too long"));
    talk_free(talk);
    g_string_insert(head, (gssize)head->len - 4, "y");
    talk = talk_both(talk_new_whole(true), head->str, EMPTY, 1000);
    g_assert_true(talk->failed &&
                  talk_has(talk->received[HTTP_GUEST], "too long"));
    talk_free(talk);
    g_string_free(head, TRUE);
}

/* The response before it must not be disturbed. */
static void test_a_malformed_request_waits_for_the_response(void)
{
    static const char response[] = OK "Content-Length: 5\r\n\r\nhello";
    struct talk *talk = talk_new(true);

    talk_send(talk, HTTP_GUEST, REQUEST "bad\n", strlen(REQUEST) + 4, 1000);
    talk_send(talk, HTTP_SERVER, response, strlen(response), 1);
    talk_send(talk, HTTP_GUEST, "\r\n", 2, 1);
    g_assert_true(g_str_has_prefix(talk->received[HTTP_GUEST]->str, response));
    g_assert_cmpuint(talk_count(talk->received[HTTP_GUEST], "403 "), ==, 1);
    talk_free(talk);
}

/* ---- malformed responses ------------------------------------------------- */

static const struct {
    const char *response, *reason;
} bad_responses[] = {
    { "HTTP/2.0 200 OK\r\n\r\n", "status line" },
    { "HTTP/1.1 20 OK\r\n\r\n", "status line" },
    { "HTTP/1.1 099 OK\r\n\r\n", "status line" },
    { "HTTP/1.1 2000 OK\r\n\r\n", "status line" },
    { "HTTP/1.1  200 OK\r\n\r\n", "status line" },
    { "HTTP/1.1 200 O\1\r\n\r\n", "control" },
    { "SSH-2.0-x\r\n", "status line" },
    { "\r\n" EMPTY, "status line" },
    { "HTTP/1.1 200 OK\n\n", "CR LF" },
    { OK "X: y\n\r\n", "CR LF" },
    { OK " folded\r\n\r\n", "folded" },
    { OK "X: y\r\n folded\r\n\r\n", "folded" },
    { OK "X : y\r\n\r\n", "name is malformed" },
    { OK "X: \1\r\n\r\n", "control" },
    { OK "Content-Length: 1\r\n" CHUNKED "\r\n", "ambiguous" },
    { OK "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", "two Content" },
    { OK "Content-Length: -1\r\n\r\n", "Content-Length" },
    { OK "Content-Length: 1,1\r\n\r\n", "Content-Length" },
    { OK "Transfer-Encoding: gzip, chunked\r\n\r\n", "Transfer-Encoding" },
    { "HTTP/1.0 200 OK\r\n" CHUNKED "\r\n", "ambiguous" },
    { "HTTP/1.1 204 OK\r\nContent-Length: 1\r\n\r\n", "without a body" },
    { "HTTP/1.1 204 OK\r\n" CHUNKED "\r\n", "without a body" },
    { "HTTP/1.1 100 OK\r\nContent-Length: 1\r\n\r\n", "without a body" },
    { "HTTP/1.1 101 OK\r\n\r\n", "WebSocket" },
    { "HTTP/1.1 101 OK\r\nUpgrade: h2c\r\n\r\n", "WebSocket" },
    { "HTTP/1.1 101 OK\r\nUpgrade: websocket\r\n\r\n", "does not ask" },
};

static void test_malformed_responses_end_the_connection(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(bad_responses) * G_N_ELEMENTS(sizes);
         i++) {
        const char *text = bad_responses[i / G_N_ELEMENTS(sizes)].response;
        const char *reason = bad_responses[i / G_N_ELEMENTS(sizes)].reason;
        struct talk *talk = talk_both(talk_new_whole(true), REQUEST, text,
                                      sizes[i % G_N_ELEMENTS(sizes)]);
        const char *problem = talk->relay->ops->problem(talk->relay);

        if (!talk->failed || !strstr(problem, reason))
            g_error("%s: %s", problem, text);
        g_assert_true(g_str_has_prefix(talk->received[HTTP_GUEST]->str,
                                       "HTTP/1.1 502 Bad Gateway\r\n"));
        g_assert_true(talk_is_over(talk));
        g_assert_true(
            talk_has(talk->exchanges, "GET /x the server's response is"));
        talk_free(talk);
    }
}

static void test_chunks_for_HTTP_1_0_are_refused(void)
{
    struct talk *talk = talk_both(talk_new_whole(true),
                                  "GET / HTTP/1.0\r\n" HOST "\r\n",
                                  OK CHUNKED "\r\n0\r\n\r\n", 1000);

    g_assert_true(talk->failed);
    g_assert_true(talk_has(talk->received[HTTP_GUEST], "502 Bad Gateway"));
    talk_free(talk);
}

static void test_malformed_bodies_end_the_connection(void)
{
    static const struct {
        const char *good, *bad, *reason;
    } cases[] = {
        { OK CHUNKED "\r\n", "x\r\n", "chunk's size" },
        { OK CHUNKED "\r\n", ";x\r\n", "chunk's size" },
        { OK CHUNKED "\r\n", "5;\n", "CR LF" },
        { OK CHUNKED "\r\n1\r\nx", "y\r\n", "longer than" },
        { OK CHUNKED "\r\n1\r\nx\r\n", "0\r\nContent-Length: 1\r\n\r\n",
          "trailer" },
        { EMPTY, "x", "no response" },
        { EMPTY, EMPTY, "no response" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *all = g_strconcat(cases[i].good, cases[i].bad, NULL);
        struct talk *talk = talk_both(talk_new_whole(true), REQUEST, all, 1);

        g_assert_true(talk->failed);
        g_assert_nonnull(
            strstr(talk->relay->ops->problem(talk->relay), cases[i].reason));
        g_assert_cmpstr(talk->received[HTTP_GUEST]->str, ==, cases[i].good);
        g_assert_cmpstr(talk->exchanges->str, ==, "GET /x 200\n");
        talk_free(talk);
    }
}

static void test_a_server_must_not_speak_first(void)
{
    struct talk *talk = talk_new(true);

    g_assert_true(talk->relay->ops->wants(talk->relay, HTTP_SERVER));
    talk_send(talk, HTTP_SERVER, EMPTY, strlen(EMPTY), 1000);
    g_assert_true(talk->failed && talk_is_over(talk));
    talk_free(talk);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/malformed/requests end the connection",
                    test_malformed_requests_end_the_connection);
    g_test_add_func("/malformed/a head has at most 64 KiB", test_long_heads);
    g_test_add_func("/malformed/a request waits for the response before it",
                    test_a_malformed_request_waits_for_the_response);
    g_test_add_func("/malformed/responses end the connection",
                    test_malformed_responses_end_the_connection);
    g_test_add_func("/malformed/chunks for HTTP 1.0 are refused",
                    test_chunks_for_HTTP_1_0_are_refused);
    g_test_add_func("/malformed/bodies of responses end the connection",
                    test_malformed_bodies_end_the_connection);
    g_test_add_func("/malformed/a server must not speak first",
                    test_a_server_must_not_speak_first);
    return g_test_run();
}
