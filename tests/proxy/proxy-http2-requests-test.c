/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy-http2-requests-test - which requests of HTTP/2 pass, and the answers to
 * the others (proxy/http2_relay.h).
 */
#include <string.h>

#include "tests/proxy/http2_peers.h"

#define OK ":status: 200\n"

/* ---- refused requests ---------------------------------------------------- */

static void test_refusal(void)
{
    world_auto struct world *world = world_new();
    struct peer_stream *other = world_request(world, "GET", "/other", NULL,
                                              true);
    struct peer_stream *refused = world_request(world, "GET", "/private?key=1",
                                                NULL, true);

    world_run(world);
    g_assert_null(world_find(world, "/private?key=1"));
    g_assert_true(g_str_has_prefix(refused->head->str, ":status: 403\n"));
    g_assert_cmpstr(refused->body->str, ==,
                    "Stepback refused this request to " NAME ": the network "
                    "policy's entry deny:" NAME "/private forbids the "
                    "request.\n");
    g_assert_true(refused->is_closed);
    g_assert_cmpuint(refused->code, ==, NGHTTP2_NO_ERROR);
    g_assert_cmpstr(world->told->str, ==,
                    "GET /private 0 refused: the network policy's entry "
                    "deny:" NAME "/private forbids the request\n");
    peer_answer(server_of(world), world_find(world, "/other"), OK, true);
    world_run(world);
    g_assert_true(other->is_whole);
    world_expect_alive(world);
}

static void test_another_host(void)
{
    world_auto struct world *world = world_new();

    world_request(world, "GET", "/", ":authority: evil.example\n", true);
    world_run(world);
    g_assert_cmpstr(world->told->str, ==,
                    "GET / 0 refused: the request names another host than "
                    "its connection (evil.example)\n");
}

/* Each request is judged by the policy of its time. */
static void test_changed_policy(void)
{
    world_auto struct world *world = world_new();
    struct peer_stream *stream;

    world_expect_alive(world);
    world_set_policy(world, "GET:" NAME, "deny:" NAME "/no");
    world_expect_alive(world);
    g_string_truncate(world->told, 0);
    stream = world_request(world, "DELETE", "/alive?x", NULL, true);
    world_run(world);
    g_assert_true(g_str_has_prefix(stream->head->str, ":status: 403\n"));
    g_assert_nonnull(strstr(stream->body->str, "\nAdd DELETE:" NAME "/alive "
                                               "to --network to allow it.\n"));
    g_assert_true(
        g_str_has_suffix(world->told->str, "; allow DELETE:" NAME "/alive\n"));
    world_request(world, "GET", "/no", NULL, true);
    world_run(world);
    g_assert_true(g_str_has_suffix(world->told->str,
                                   "GET /no 0 refused: the network policy's "
                                   "entry deny:" NAME "/no forbids the "
                                   "request\n"));
    world_expect_alive(world);
}

/* Their bodies are not read, and take nothing from the window of the others. */
static void test_refused_uploads(void)
{
    world_auto struct world *world = world_new();
    g_autofree char *data = g_malloc0(1 << 20);
    struct peer_stream *last;

    for (int i = 0; i < 50; i++) {
        struct peer_stream *stream = world_request(world, "PUT", "/private",
                                                   NULL, false);

        peer_send(guest_of(world), stream, data, 1 << 20, false);
        world_run(world);
        g_assert_true(stream->is_closed);
        g_assert_cmpuint(stream->code, ==, NGHTTP2_NO_ERROR);
        g_assert_true(g_str_has_prefix(stream->head->str, ":status: 403\n"));
    }
    last = world_request(world, "PUT", "/last", NULL, false);
    peer_send(guest_of(world), last, data, 1 << 20, true);
    world_run(world);
    g_assert_cmpuint(world_find(world, "/last")->body->len, ==, 1 << 20);
}

static void test_refused_head(void)
{
    world_auto struct world *world = world_new();
    struct peer_stream *stream = world_request(world, "HEAD", "/private", NULL,
                                               true);

    world_run(world);
    g_assert_true(stream->is_whole);
    g_assert_cmpuint(stream->body->len, ==, 0);
    world_expect_alive(world);
}

static const struct bad {
    const char *method, *path, *fields, *reason; /* NULL: a reset */
} bad_requests[] = {
    { "GET", "/x", ":authority: evil.example\n", "another host" },
    { "GET", "/x", ":authority: " NAME ".evil.example\n", "another host" },
    { "GET", "/x", ":authority: " NAME ":80\n", "another port" },
    { "GET", "/x", ":authority: " NAME ":\n", "another port" },
    { "GET", "/x", ":authority: user@" NAME "\n", "another host" },
    { "GET", "/x", "host: evil.example\n", "another host" },
    { "GET", "/x", ":authority: \nhost: evil.example\n", "another host" },
    { "GET", "/x", "host: " NAME "\nhost: " NAME "\n", NULL },
    { "GET", "/x", ":authority: \n", NULL },
    { "GET", "/x", ":scheme: http\n", "another scheme" },
    { "CONNECT", "/x", ":authority: " NAME ":443\n:scheme: \n:path: \n",
      "CONNECT" },
    { "CONNECT", "/x", ":protocol: websocket\n", NULL },
    { "TRACE", "/x", NULL, "TRACE" },
    { "GET", "x", NULL, NULL },
    { "GET", "*", NULL, NULL },
    { "GET", "/x#y", NULL, "malformed path" },
    { "GET", "/x", "content_length: 1\n", "underscore" },
    { "GET", "/x", "transfer_encoding: chunked\n", "underscore" },
    { "GET", "/x", "transfer-encoding: chunked\n", NULL },
    { "GET", "/x", "connection: close\n", NULL },
    { "GET", "/x", "upgrade: websocket\n", NULL },
    { "GET", "/x", "content-length: 5\n", NULL }, /* but no body */
    { "GET", "/x", "content-length: 0\ncontent-length: 0\n", NULL },
    { "GET", "/x", "bad name: 1\n", NULL },
    { "GET", "/x", "x-text: a\001b\n", NULL },
    { "GET", "/x", "x-text: a\rb\n", NULL },
    { "GET /", "/x", NULL, NULL },
    { "GET", "/x", "x-other: " PLACEHOLDER "\n", "" },
};

static void test_bad_requests(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(bad_requests); i++) {
        const struct bad *bad = &bad_requests[i];
        world_auto struct world *world = world_new();
        struct peer_stream *stream = world_request(
            world, bad->method, bad->path, bad->fields, true);

        world_run(world);
        if (server_of(world)->streams->len > 0)
            g_error("passed: %s %s %s", bad->method, bad->path, bad->fields);
        if (bad->reason &&
            (!g_str_has_prefix(stream->head->str, ":status: 403\n") ||
             !strstr(stream->body->str, bad->reason)))
            g_error("%s instead of %s", stream->body->str, bad->reason);
        g_assert_true(stream->is_closed);
        g_assert_true(bad->reason || stream->code == NGHTTP2_PROTOCOL_ERROR);
        world_expect_alive(world);
    }
}

static void test_good_requests(void)
{
    static const char *const fields[] = {
        ":authority: API.example.ORG\n",
        ":authority: " NAME ".\n",
        ":authority: " NAME ":443\n",
        ":authority: \nhost: " NAME "\n",
        "host: " NAME "\n",
        "te: trailers\n",
        "x_other: 1\n",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
        world_auto struct world *world = world_new();

        world_request(world, "GET", "/good", fields[i], true);
        world_run(world);
        if (!world_find(world, "/good"))
            g_error("refused: %s", fields[i]);
        g_assert_null(strstr(world_find(world, "/good")->head->str, "\nhost:"));
    }
}

static void test_options(void)
{
    world_auto struct world *world = world_new();

    world_set_policy(world, "intercept:" NAME, "other.example");
    world_request(world, "OPTIONS", "*", NULL, true);
    world_run(world);
    g_assert_nonnull(world_find(world, "*"));
}

/* ---- header lists -------------------------------------------------------- */

static char *make_fields(const char *before, size_t length)
{
    GString *text = g_string_new(before);

    for (size_t i = 0; i < length / 1024; i++)
        g_string_append_printf(text, "x-%zu: %01000d\n", i, 0);
    return g_string_free(text, FALSE);
}

static void test_long_requests(void)
{
    world_auto struct world *world = world_new();
    g_autofree char *most = make_fields("", 60 << 10);
    g_autofree char *more = make_fields("", 66 << 10);
    struct peer_stream *stream = world_request(world, "GET", "/more", more,
                                               true);

    world_request(world, "GET", "/most", most, true);
    world_run(world);
    g_assert_nonnull(world_find(world, "/most"));
    g_assert_null(world_find(world, "/more"));
    g_assert_true(g_str_has_prefix(stream->head->str, ":status: 431\n"));
    world_expect_alive(world);
}

/* 300 fields of 2.9 KiB, which HPACK sends as one and 299 bytes. */
static void test_compressed_requests(void)
{
    world_auto struct world *world = world_new();
    g_autoptr(GString) fields = g_string_new(NULL);
    struct peer_stream *stream;

    for (int i = 0; i < 300; i++)
        g_string_append_printf(fields, "x: %02900d\n", 0);
    stream = world_request(world, "GET", "/bomb", fields->str, true);
    world_run(world);
    g_assert_null(world_find(world, "/bomb"));
    g_assert_true(stream->is_closed);
    world_expect_alive(world);
}

static void test_long_response(void)
{
    world_auto struct world *world = world_new();
    g_autofree char *more = make_fields(OK, 66 << 10);
    struct peer_stream *stream = world_request(world, "GET", "/", NULL, true);

    world_run(world);
    peer_answer(server_of(world), world_find(world, "/"), more, true);
    world_run(world);
    g_assert_true(stream->is_closed && !stream->has_head);
    g_assert_cmpuint(stream->code, ==, NGHTTP2_ENHANCE_YOUR_CALM);
    world_expect_alive(world);
}

/* nghttp2 takes it. */
static void test_response_without_status(void)
{
    world_auto struct world *world = world_new();
    struct peer_stream *stream = world_request(world, "GET", "/", NULL, true);

    world_run(world);
    peer_answer(server_of(world), world_find(world, "/"), ":status: 000\n",
                true);
    world_run(world);
    g_assert_true(stream->is_closed && !stream->has_head);
    g_assert_cmpuint(stream->code, ==, NGHTTP2_PROTOCOL_ERROR);
    g_assert_cmpstr(world->told->str, ==, "GET / 0\n");
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/a refusal ends its stream alone", test_refusal);
    g_test_add_func("/the record of a refusal has the host that was meant",
                    test_another_host);
    g_test_add_func("/the policy can change", test_changed_policy);
    g_test_add_func("/bodies of refused requests are dropped",
                    test_refused_uploads);
    g_test_add_func("/a refused HEAD has no body", test_refused_head);
    g_test_add_func("/bad requests do not pass", test_bad_requests);
    g_test_add_func("/good requests pass", test_good_requests);
    g_test_add_func("/OPTIONS can be for the server", test_options);
    g_test_add_func("/long requests are refused", test_long_requests);
    g_test_add_func("/compressed long requests are refused",
                    test_compressed_requests);
    g_test_add_func("/long responses are refused", test_long_response);
    g_test_add_func("/a response must have a status",
                    test_response_without_status);
    return g_test_run();
}
