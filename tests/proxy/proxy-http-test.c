/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy-http-test - which HTTP requests pass stepback-proxy, and which other
 * protocols.
 */
#include <glib.h>
#include <string.h>

#include "tests/proxy/check_judge.h"

static void expect_passed(const char *request)
{
    struct result result = judge(GUEST_CHECK_WEB, request, strlen(request));

    if (!result.ok)
        g_error("refused (%s): %s", result.check.refusal.reason, request);
    g_assert_cmpuint(result.passed, ==, strlen(request));
}

static void expect_refused(const char *request, const char *reason)
{
    struct result result = judge(GUEST_CHECK_WEB, request, strlen(request));

    if (result.ok)
        g_error("not refused: %s", request);
    if (!strstr(result.check.refusal.reason, reason))
        g_error("refused because of: %s: %s", result.check.refusal.reason,
                request);
    g_assert_cmpuint(result.passed, ==, 0);
}

/* ---- HTTP ---------------------------------------------------------------- */

#define GET  "GET / HTTP/1.1\r\n"
#define HOST "Host: " NAME "\r\n"
#define POST "POST / HTTP/1.1\r\n" HOST

static const char *const good_requests[] = {
    GET HOST "\r\n",
    GET "host:" NAME "\r\n\r\n",
    GET "HOST: \tApi.Example.ORG. \t\r\n\r\n",
    GET "Host: " NAME ":80\r\n\r\n",
    "GET http://" NAME "/x?y HTTP/1.1\r\n" HOST "\r\n",
    "GET http://" NAME ":80 HTTP/1.1\r\n" HOST "\r\n",
    "OPTIONS * HTTP/1.1\r\n" HOST "\r\n",
    "GET / HTTP/1.0\r\n" HOST "\r\n",
    "PROPFIND /x HTTP/1.1\r\n" HOST "\r\n",
    GET HOST "X-Text: \303\274\r\n\r\n", /* obs-text in a value */
    GET HOST "X-Empty:\r\n\r\n",
    GET HOST "\r\n" GET HOST "\r\n",
    POST "Content-Length: 5\r\n\r\nhello" GET HOST "\r\n",
    POST "Content-Length: 0\r\n\r\n" GET HOST "\r\n",
    POST "Content-Length: 4\r\n\r\n\r\n\r\n" GET HOST "\r\n",
    POST "Transfer-Encoding: Chunked\r\n\r\n"
         "5\r\nhello\r\n0a\r\n0123456789\r\n0\r\n\r\n" GET HOST "\r\n",
    POST "Transfer-Encoding: chunked\r\n\r\n0\r\nX-Sum: 1\r\n\r\n" GET HOST
         "\r\n",
    GET HOST "Connection: keep-alive, TE\r\n\r\n",
};

static void test_good_requests(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(good_requests); i++)
        expect_passed(good_requests[i]);
}

static const struct bad {
    const char *request, *reason;
} bad_requests[] = {
    /* The host. */
    { GET "\r\n", "no Host" },
    { GET "Host:\r\n\r\n", "another host" },
    { GET "Host: evil.example\r\n\r\n", "another host" },
    { GET "Host: " NAME ".evil.example\r\n\r\n", "another host" },
    { GET "Host: x" NAME "\r\n\r\n", "another host" },
    { GET "Host: " NAME "..\r\n\r\n", "another host" },
    { GET "Host: " NAME ", evil.example\r\n\r\n", "another host" },
    { GET "Host: " NAME "\301\r\n\r\n", "another host" }, /* obs-text */
    { GET "Host: " NAME ":81\r\n\r\n", "another port" },
    { GET "Host: " NAME ":080\r\n\r\n", "another port" },
    { GET "Host: " NAME ":\r\n\r\n", "another port" },
    { GET "Host: " NAME ":80:80\r\n\r\n", "another port" },
    { GET HOST HOST "\r\n", "two Host" },
    { GET HOST "hOST: evil.example\r\n\r\n", "two Host" },
    { "GET http://evil.example/ HTTP/1.1\r\n" HOST "\r\n", "another host" },
    { "GET http://" NAME "@evil.example/ HTTP/1.1\r\n" HOST "\r\n",
      "another host" },
    { "GET http://evil.example?" NAME "/ HTTP/1.1\r\n" HOST "\r\n",
      "another host" },
    { "GET http://" NAME "/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
      "another host" },
    { "GET http://" NAME ":81/ HTTP/1.1\r\n" HOST "\r\n", "another port" },
    { "GET https://" NAME "/ HTTP/1.1\r\n" HOST "\r\n", "must be a path" },
    { "GET " NAME " HTTP/1.1\r\n" HOST "\r\n", "must be a path" },
    { "GET *x HTTP/1.1\r\n" HOST "\r\n", "must be a path" },
    { "CONNECT " NAME ":80 HTTP/1.1\r\n" HOST "\r\n", "CONNECT" },
    { "connect " NAME ":80 HTTP/1.1\r\n" HOST "\r\n", "CONNECT" },

    /* Other protocols. */
    { "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/2" },
    { GET HOST "Upgrade: h2c\r\n\r\n", "upgrade to WebSocket" },
    { GET HOST "Upgrade: websocket, h2c\r\n\r\n", "upgrade to WebSocket" },
    { GET HOST "Upgrade: websocket\r\nUpgrade: websocket\r\n\r\n",
      "upgrade to WebSocket" },
    { POST "Upgrade: websocket\r\n\r\n", "GET without a body" },
    { GET HOST "Upgrade: websocket\r\nContent-Length: 1\r\n\r\n",
      "GET without a body" },
    { "GET /\r\n", "neither" },
    { "EHLO " NAME "\r\n", "neither" },
    { "SSH-2.0-x\r\n", "neither" },
    { "\1\2\3", "neither" },
    { "\200\1\2", "neither" },
    { "\26\2\1", "neither" },

    /* The request line. */
    { " GET / HTTP/1.1\r\n" HOST "\r\n", "method" },
    { "GET\t/\tHTTP/1.1\r\n" HOST "\r\n", "request line" },
    { "GET  HTTP/1.1\r\n" HOST "\r\n", "must be a path" },
    { "GET / x HTTP/1.1\r\n" HOST "\r\n", "target" },
    { "GET  / HTTP/1.1\r\n" HOST "\r\n", "target" },
    { "GET /\177 HTTP/1.1\r\n" HOST "\r\n", "neither" },
    { "GET /\303\274 HTTP/1.1\r\n" HOST "\r\n", "target" }, /* obs-text */
    { "GET / HTTP/1.2\r\n" HOST "\r\n", "request line" },
    { "GET / http/1.1\r\n" HOST "\r\n", "request line" },
    { "GET / HTTP/1.1 \r\n" HOST "\r\n", "request line" },
    { "GET / HTTP/01.1\r\n" HOST "\r\n", "request line" },
    { "\r\n" GET HOST "\r\n", "request line" },

    /* Lines. */
    { "GET / HTTP/1.1\n" HOST "\r\n", "CR LF" },
    { "\n" GET HOST "\r\n", "CR LF" },
    { GET "Host: " NAME "\n\r\n", "CR LF" },
    { GET HOST "\n", "CR LF" },
    { GET HOST "X: a\rb\r\n\r\n", "CR LF" },
    { GET HOST "X: a\r\r\n\r\n", "CR LF" },
    { GET HOST "\r\r\n", "CR LF" },
    { GET HOST " folded\r\n\r\n", "folded" },
    { GET HOST "\tHost: evil.example\r\n\r\n", "folded" },
    { GET " " HOST "\r\n", "folded" },
    { GET "Host : " NAME "\r\n\r\n", "name is malformed" },
    { GET "Host\t: " NAME "\r\n\r\n", "name is malformed" },
    { GET HOST "Transfer-Encoding : chunked\r\n\r\n", "name is malformed" },
    { GET HOST ": x\r\n\r\n", "name is malformed" },
    { GET HOST "no colon\r\n\r\n", "name is malformed" },
    { GET HOST "X\303\274: x\r\n\r\n", "name is malformed" }, /* obs-text */
    { GET HOST "X(: x\r\n\r\n", "name is malformed" },
    { GET HOST "X: \1\r\n\r\n", "control" },
    { GET HOST "X: \177\r\n\r\n", "control" },

    /* The body's length. */
    { POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
      "ambiguous" },
    { POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
      "ambiguous" },
    { POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", "two Content" },
    { POST "Content-Length: 5, 5\r\n\r\n", "Content-Length" },
    { POST "Content-Length: +5\r\n\r\n", "Content-Length" },
    { POST "Content-Length: -1\r\n\r\n", "Content-Length" },
    { POST "Content-Length: 0x5\r\n\r\n", "Content-Length" },
    { POST "Content-Length: 5 5\r\n\r\n", "Content-Length" },
    { POST "Content-Length:\r\n\r\n", "Content-Length" },
    { POST "Content-Length: 18446744073709551617\r\n\r\n", "Content-Length" },
    { POST "Transfer-Encoding: gzip, chunked\r\n\r\n", "Transfer-Encoding" },
    { POST "Transfer-Encoding: xchunked\r\n\r\n", "Transfer-Encoding" },
    { POST "Transfer-Encoding: chunked, identity\r\n\r\n",
      "Transfer-Encoding" },
    { POST "Transfer-Encoding: identity\r\n\r\n", "Transfer-Encoding" },
    { POST "Transfer-Encoding: \"chunked\"\r\n\r\n", "Transfer-Encoding" },
    { POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
      "Transfer-Encoding" },
    { "POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n",
      "ambiguous" },
    { GET HOST "Connection: x, Host\r\n\r\n", "Connection" },

    /* Some servers take '_' for '-'. */
    { POST "Content-Length: 5\r\nTransfer_Encoding: chunked\r\n\r\n",
      "underscore" },
    { POST "Transfer-Encoding: chunked\r\ncontent_length: 5\r\n\r\n",
      "underscore" },
    { GET HOST "Connection: content-length\r\n\r\n", "Connection" },
    { GET HOST "Connection: Transfer-Encoding\r\n\r\n", "Connection" },
};

static void test_bad_requests(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(bad_requests); i++)
        expect_refused(bad_requests[i].request, bad_requests[i].reason);
}

#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

/* The bytes before the bad part pass. */
static const struct {
    const char *good, *bad, *reason;
} later[] = {
    { GET HOST "\r\n", GET "Host: evil.example\r\n\r\n", "another host" },
    { GET HOST "\r\n", "\r\n" GET HOST "\r\n", "request line" },
    { GET HOST "\r\n", "PRI * HTTP/2.0\r\n", "HTTP/2" },
    { GET HOST "\r\n", GET HOST "Upgrade: websocket\r\n\r\n", "first request" },
    { POST "Content-Length: 5\r\n\r\nhello", "!" GET "\r\n", "no Host" },
    { CHUNKED, "\r\n", "chunk's size" },
    { CHUNKED, "x\r\n", "chunk's size" },
    { CHUNKED, "0x5\r\n", "chunk's size" },
    { CHUNKED, "-5\r\n", "chunk's size" },
    { CHUNKED, "5;x=y\r\n", "chunk's size" },
    { CHUNKED, "5 \r\n", "chunk's size" },
    { CHUNKED, "5\n", "CR LF" },
    { CHUNKED, "00000000000000005\r\n", "too long" },
    { CHUNKED "5\r\nhello", "\n0", "longer than" },
    { CHUNKED "5\r\nhello", "!\r\n", "longer than" },
    { CHUNKED "5\r\nhello", "\rx", "longer than" },
    { CHUNKED "0\r\n", "Host: evil.example\r\n\r\n", "trailer" },
    { CHUNKED "0\r\n", "content-length: 5\r\n\r\n", "trailer" },
    { CHUNKED "0\r\n", " folded\r\n\r\n", "folded" },
    { CHUNKED "0\r\n", GET HOST "\r\n", "name is malformed" },
};

static void test_later_bytes(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(later); i++) {
        g_autofree char *all = g_strconcat(later[i].good, later[i].bad, NULL);
        struct result result = judge(GUEST_CHECK_WEB, all, strlen(all));

        if (result.ok || !strstr(result.check.refusal.reason, later[i].reason))
            g_error("%s: %s", result.check.refusal.reason, all);
        g_assert_cmpuint(result.passed, ==, strlen(later[i].good));
    }
}

static void test_nothing_of_a_head_passes_before_its_end(void)
{
    static const char request[] = GET HOST "X: y\r\n\r\n";

    for (size_t length = 0; length < sizeof(request) - 1; length++) {
        struct result result = judge(GUEST_CHECK_WEB, request, length);

        g_assert_true(result.ok);
        g_assert_cmpuint(result.passed, ==, 0);
    }
}

static void test_nul_bytes(void)
{
    static const char in_value[] = GET HOST "X: \0\r\n\r\n";
    static const char in_host[] = GET "Host: " NAME "\0\r\n\r\n";
    static const char in_name[] = GET HOST "X\0: y\r\n\r\n";
    static const char in_line[] = "GET /\0 HTTP/1.1\r\n" HOST "\r\n";

    g_assert_false(judge(GUEST_CHECK_WEB, in_value, sizeof(in_value) - 1).ok);
    g_assert_false(judge(GUEST_CHECK_WEB, in_host, sizeof(in_host) - 1).ok);
    g_assert_false(judge(GUEST_CHECK_WEB, in_name, sizeof(in_name) - 1).ok);
    g_assert_false(judge(GUEST_CHECK_WEB, in_line, sizeof(in_line) - 1).ok);
}

/* A head of this many bytes. */
static GString *long_head(size_t length, bool many)
{
    GString *head = g_string_new(GET HOST);

    while (many && head->len + 64 < length)
        g_string_append(head, "X: y\r\n");
    g_string_append(head, "X: ");
    while (head->len + 4 < length)
        g_string_append_c(head, 'y');
    g_string_append(head, "\r\n\r\n");
    g_assert_cmpuint(head->len, ==, length);
    return head;
}

static void test_long_heads(void)
{
    for (int many = 0; many < 2; many++) {
        GString *fits = long_head(HTTP_HEAD_MAX, many);
        GString *exceeds = long_head(HTTP_HEAD_MAX + 1, many);
        struct result found = judge_by(GUEST_CHECK_WEB, fits->str, fits->len,
                                       fits->len);

        g_assert_true(found.ok);
        g_assert_cmpuint(found.passed, ==, fits->len);
        g_string_append(fits, GET);
        g_assert_true(judge_by(GUEST_CHECK_WEB, fits->str, fits->len, 1000).ok);
        found = judge_by(GUEST_CHECK_WEB, exceeds->str, exceeds->len,
                         exceeds->len);
        g_assert_false(found.ok);
        found = judge_by(GUEST_CHECK_WEB, exceeds->str, exceeds->len, 1);
        g_assert_false(found.ok);
        g_assert_nonnull(strstr(found.check.refusal.reason, "too long"));
        g_string_free(fits, TRUE);
        g_string_free(exceeds, TRUE);
    }
}

static void test_the_other_host_is_named(void)
{
    static const char request[] = GET "Host: Evil.Example:80\r\n\r\n";
    static const char strange[] = GET "Host: evil\"example\r\n\r\n";

    g_assert_cmpstr(
        judge(GUEST_CHECK_WEB, request, strlen(request)).check.refusal.other,
        ==, "Evil.Example");
    g_assert_cmpstr(
        judge(GUEST_CHECK_WEB, strange, strlen(strange)).check.refusal.other,
        ==, "");
}

/* ---- upgrades ------------------------------------------------------------ */

#define UPGRADE GET HOST "Upgrade: WebSocket\r\nConnection: Upgrade\r\n\r\n"

/* Return how many bytes pass behind the upgrade after the server's response;
 * *ret_ok: whether none was refused. */
static size_t upgrade(const char *response, const char *rest, bool *ret_ok)
{
    struct guest_check check;
    size_t passed;

    guest_check_init(&check, GUEST_CHECK_WEB, NAME, PORT);
    g_assert_true(guest_check_judge(&check, UPGRADE, strlen(UPGRADE), &passed));
    g_assert_cmpuint(passed, ==, strlen(UPGRADE));
    g_assert_true(guest_check_waits(&check));
    g_assert_true(guest_check_judge(&check, rest, strlen(rest), &passed));
    g_assert_cmpuint(passed, ==, 0);
    for (size_t i = 0; response[i]; i++)
        guest_check_hear(&check, response + i, 1);
    *ret_ok = guest_check_judge(&check, rest, strlen(rest), &passed);
    return passed;
}

static void test_an_upgrade_waits_for_the_status(void)
{
    static const struct {
        const char *response, *rest;
        bool ok, passed;
    } cases[] = {
        { "HTTP/1.1 101 Switching", "\1\2\3", true, true },
        { "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 101 x", "\1", true, true },
        { "HTTP/1.1 103 x\r\nA: b\r\n\r\nHTTP/1.1 101 x", "\1", true, true },
        { "HTTP/1.1 103 x\r\nA: HTTP/1.1 101 x", "\1", true, false },
        { "HTTP/1.1 200 OK\r\n", "\1\2\3\n", false, false },
        { "HTTP/1.1 200 OK\r\n", GET HOST "\r\n", true, true },
        { "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 101 x\r\n\r\n", "\1\n", false,
          false },
        { "HTTP/1.1 200 OK", GET "Host: evil.example\r\n\r\n", false, false },
        { "HTTP/2.0 101 x", "\1\n", false, false },
        { "HTTP/1.1 10", "\1", true, false },
        { "HTTP/1.1 426 Upgrade Required", GET HOST "\r\n", true, true },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        bool ok;
        size_t passed = upgrade(cases[i].response, cases[i].rest, &ok);

        if (ok != cases[i].ok ||
            passed != (cases[i].passed ? strlen(cases[i].rest) : 0))
            g_error("%s: %zu", cases[i].response, passed);
    }
}

/* ---- ports --------------------------------------------------------------- */

static enum guest_check_protocol look(const char *text, bool *ret_ok)
{
    struct result result = judge(GUEST_CHECK_PORT, text, strlen(text));

    *ret_ok = result.ok;
    return result.check.protocol;
}

static void test_a_port_passes_other_protocols(void)
{
    static const char *const others[] = {
        "SSH-2.0-OpenSSH_9\r\n",
        "*1\r\n$4\r\nPING\r\n",
        "GET key\r\n",
        "GET\r\n",
        "\200\1",
        "\200\56\2",
        "\25\2",
        "<stream:stream to='x'>",
        "\26\1",
        "\1",
    };
    static const char *const requests[] = {
        GET "Host: evil.example\r\n\r\n",
        "GET / HTTP/1.1\nHost: evil.example\n\n",
        "\r\n" GET "Host: evil.example\r\n\r\n",
        "\nget\t/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        "GET / HTTP/1.1 \r\nHost: evil.example\r\n\r\n",
        "PRI * HTTP/2.0\r\n",
        "GET /\303\274 http/1.1\r\n",
        /* HTTP/0.9, which some servers answer for any host. */
        "GET /\r\n",
        "get\t/index.html\n",
        "GET http://evil.example/\r\n",
        /* TLS, begun by other records, which some servers skip. */
        "\25\3\1",
        "\24\3\3",
        /* TLS without a server name: a hello of SSL 2.0. */
        "\200\56\1\3\3",
        "\201\1\1",
    };
    bool ok;

    for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
        if (look(others[i], &ok) != GUEST_CHECK_PASSED || !ok)
            g_error("held: %s", others[i]);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(requests); i++) {
        if (look(requests[i], &ok) == GUEST_CHECK_PASSED || ok)
            g_error("passed: %s", requests[i]);
    }
    g_assert_cmpint(look(GET HOST "\r\n", &ok), ==, GUEST_CHECK_HTTP);
    g_assert_true(ok);
    g_assert_cmpint(look("GET / HTT", &ok), ==, GUEST_CHECK_UNKNOWN);
    g_assert_true(ok);
}

static void test_a_port_passes_what_a_server_begins(void)
{
    struct guest_check port, web;
    size_t passed;

    guest_check_init(&port, GUEST_CHECK_PORT, NAME, PORT);
    guest_check_init(&web, GUEST_CHECK_WEB, NAME, PORT);
    g_assert_false(guest_check_hear(&port, "", 0));
    g_assert_true(guest_check_hear(&port, "220 ", 4));
    g_assert_false(guest_check_hear(&web, "220 ", 4));
    g_assert_true(guest_check_judge(&port, GET, 3, &passed));
    g_assert_cmpuint(passed, ==, 3);
    g_assert_false(guest_check_judge(&web, "EHLO x\r\n", 8, &passed));
}

static void test_a_long_first_line_is_http(void)
{
    GString *line = g_string_new("GET /");
    size_t short_of = 4095;
    bool ok;

    while (line->len < short_of)
        g_string_append_c(line, 'x');
    g_assert_cmpint(look(line->str, &ok), ==, GUEST_CHECK_UNKNOWN);
    g_string_append_c(line, 'x');
    g_assert_cmpint(look(line->str, &ok), ==, GUEST_CHECK_HTTP);
    g_assert_true(ok);
    g_string_append(line, " HTTP/1.1\r\n" HOST "\r\n");
    expect_passed(line->str);
    g_string_assign(line, "\r\n");
    while (line->len < short_of + 1)
        g_string_append(line, "\r\n");
    look(line->str, &ok);
    g_assert_false(ok);
    g_string_free(line, TRUE);
}

/* Return whether the bytes pass at the end of input, after a first judgement.
 */
static bool ends_well(enum guest_check_kind kind, const char *text)
{
    struct result result = judge(kind, text, strlen(text));

    g_assert_true(result.ok);
    return guest_check_end(&result.check, text + result.passed,
                           strlen(text) - result.passed);
}

static void test_the_end_of_input(void)
{
    g_assert_true(ends_well(GUEST_CHECK_PORT, "EHLO x"));
    g_assert_true(ends_well(GUEST_CHECK_PORT, "GET"));
    g_assert_false(ends_well(GUEST_CHECK_PORT, "GET http://other/ HTTP/1.0"));
    g_assert_false(ends_well(GUEST_CHECK_PORT, "GET /"));
    g_assert_false(ends_well(GUEST_CHECK_WEB, "GET / HTT"));
    g_assert_false(ends_well(GUEST_CHECK_WEB, GET));
    g_assert_true(ends_well(GUEST_CHECK_WEB, GET HOST "\r\n"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/http/good requests pass", test_good_requests);
    g_test_add_func("/http/bad requests are refused", test_bad_requests);
    g_test_add_func("/http/later requests and bodies are checked",
                    test_later_bytes);
    g_test_add_func("/http/nothing of a head passes before its end",
                    test_nothing_of_a_head_passes_before_its_end);
    g_test_add_func("/http/NUL bytes are refused", test_nul_bytes);
    g_test_add_func("/http/a head has at most 64 KiB", test_long_heads);
    g_test_add_func("/http/a refusal names the other host",
                    test_the_other_host_is_named);
    g_test_add_func("/http/an upgrade waits for the status",
                    test_an_upgrade_waits_for_the_status);
    g_test_add_func("/port/other protocols pass",
                    test_a_port_passes_other_protocols);
    g_test_add_func("/port/everything passes if the server begins",
                    test_a_port_passes_what_a_server_begins);
    g_test_add_func("/port/a long first line is a request's",
                    test_a_long_first_line_is_http);
    g_test_add_func("/end/incomplete input is refused", test_the_end_of_input);
    return g_test_run();
}
