/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy-http2-test - HTTP/2 between a guest and a server that keep to the
 * protocol (proxy/http2_relay.h).
 */
#include <string.h>

#include "proxy/http2_parts.h"
#include "tests/proxy/http2_peers.h"

#define OK ":status: 200\n"

/* A request that has reached the server. */
struct pair {
    struct peer_stream *guest, *server;
};

static struct pair start(struct world *world, const char *method,
                         const char *path, bool is_last)
{
    struct pair pair = { world_request(world, method, path, NULL, is_last) };

    world_run(world);
    pair.server = world_find(world, path);
    g_assert_nonnull(pair.server);
    return pair;
}

static void expect_told(struct world *world, const char *expected)
{
    g_assert_cmpstr(world->told->str, ==, expected);
}

/* ---- messages ------------------------------------------------------------ */

static void test_exchange(void)
{
    world_auto struct world *world = world_new();
    struct pair pair;

    pair.guest = world_request(world, "POST", "/a?b=c",
                               "content-length: 5\nx-y: z\nhost: " NAME "\n",
                               false);
    peer_send(guest_of(world), pair.guest, "hello", 5, true);
    world_run(world);
    pair.server = world_find(world, "/a?b=c");
    g_assert_cmpstr(pair.server->head->str, ==,
                    ":method: POST\n:scheme: https\n:authority: " NAME "\n"
                    ":path: /a?b=c\ncontent-length: 5\nx-y: z\n");
    g_assert_cmpstr(pair.server->body->str, ==, "hello");
    g_assert_true(pair.server->is_whole);
    peer_answer(server_of(world), pair.server, ":status: 404\nx: 1\n", false);
    peer_send(server_of(world), pair.server, "no", 2, true);
    world_run(world);
    g_assert_cmpstr(pair.guest->head->str, ==, ":status: 404\nx: 1\n");
    g_assert_cmpstr(pair.guest->body->str, ==, "no");
    g_assert_true(pair.guest->is_closed && pair.server->is_closed);
    expect_told(world, "POST /a 404\n");
}

static void test_bytes(void)
{
    world_auto struct world *world = world_new();

    world->step = 1;
    world_expect_alive(world);
}

static void test_parallel(void)
{
    world_auto struct world *world = world_new();
    struct peer_stream *streams[HTTP2_STREAMS];

    for (int i = 0; i < HTTP2_STREAMS; i++) {
        g_autofree char *path = g_strdup_printf("/%d", i);

        streams[i] = world_request(world, "PUT", path, NULL, false);
        peer_send(guest_of(world), streams[i], path, strlen(path), true);
    }
    world_run(world);
    for (int i = HTTP2_STREAMS - 1; i >= 0; i--) {
        g_autofree char *path = g_strdup_printf("/%d", i);
        struct peer_stream *stream = world_find(world, path);

        g_assert_cmpstr(stream->body->str, ==, path);
        peer_answer(server_of(world), stream, OK, false);
        peer_send(server_of(world), stream, path, strlen(path), true);
    }
    world_run(world);
    for (int i = 0; i < HTTP2_STREAMS; i++) {
        g_autofree char *path = g_strdup_printf("/%d", i);

        g_assert_cmpstr(streams[i]->body->str, ==, path);
        g_assert_true(streams[i]->is_closed);
    }
    world_expect_alive(world);
}

static void test_without_body(void)
{
    world_auto struct world *world = world_new();
    struct pair head = start(world, "HEAD", "/head", true);
    struct pair empty = start(world, "GET", "/empty", true);

    peer_answer(server_of(world), head.server, OK "content-length: 1000\n",
                true);
    peer_answer(server_of(world), empty.server, ":status: 204\n", true);
    world_run(world);
    g_assert_true(head.guest->is_whole && empty.guest->is_whole);
    g_assert_nonnull(strstr(head.guest->head->str, "content-length: 1000\n"));
    g_assert_cmpuint(empty.guest->code, ==, NGHTTP2_NO_ERROR);
}

static void test_trailers(void)
{
    world_auto struct world *world = world_new();
    struct pair pair = start(world, "POST", "/", false);

    peer_send(guest_of(world), pair.guest, "body", 4, false);
    peer_send_trailer(guest_of(world), pair.guest);
    peer_answer(server_of(world), pair.server, OK, false);
    peer_send_trailer(server_of(world), pair.server);
    world_run(world);
    g_assert_cmpstr(pair.server->body->str, ==, "body");
    g_assert_cmpstr(pair.server->trailers->str, ==, "x-sum: 1\n");
    g_assert_cmpstr(pair.guest->trailers->str, ==, "x-sum: 1\n");
    g_assert_true(pair.guest->is_closed && pair.server->is_closed);
    world_expect_alive(world);
}

static void test_interim(void)
{
    world_auto struct world *world = world_new();
    struct pair pair = start(world, "POST", "/", false);

    peer_interim(server_of(world), pair.server, ":status: 100\n");
    peer_interim(server_of(world), pair.server, ":status: 103\nlink: </a>\n");
    world_run(world);
    g_assert_cmpstr(pair.guest->interim->str, ==,
                    ":status: 100\n:status: 103\nlink: </a>\n");
    expect_told(world, "");
    peer_send(guest_of(world), pair.guest, "x", 1, true);
    peer_answer(server_of(world), pair.server, OK, true);
    world_run(world);
    g_assert_cmpstr(pair.guest->head->str, ==, OK);
    expect_told(world, "POST / 200\n");
}

/* ---- streaming ----------------------------------------------------------- */

static void test_events(void)
{
    world_auto struct world *world = world_new();
    struct pair pair = start(world, "GET", "/events", true);

    peer_answer(server_of(world), pair.server, OK, false);
    for (unsigned i = 1; i <= 10; i++) {
        peer_send(server_of(world), pair.server, "data: x\n\n", 9, false);
        world_run(world);
        g_assert_cmpuint(pair.guest->body->len, ==, i * 9);
        g_assert_cmpuint(pair.guest->chunks, ==, i);
    }
}

static void test_both_ways(void)
{
    world_auto struct world *world = world_new();
    struct pair pair = start(world, "POST", "/rpc", false);

    peer_answer(server_of(world), pair.server, OK, false);
    for (unsigned i = 1; i <= 10; i++) {
        peer_send(guest_of(world), pair.guest, "ask", 3, false);
        world_run(world);
        g_assert_cmpuint(pair.server->body->len, ==, i * 3);
        peer_send(server_of(world), pair.server, "told", 4, false);
        world_run(world);
        g_assert_cmpuint(pair.guest->body->len, ==, i * 4);
    }
    peer_send(guest_of(world), pair.guest, "", 0, true);
    world_run(world);
    g_assert_true(pair.server->is_whole && !pair.guest->is_whole);
    peer_send_trailer(server_of(world), pair.server);
    world_run(world);
    g_assert_cmpstr(pair.guest->trailers->str, ==, "x-sum: 1\n");
    g_assert_true(pair.guest->is_closed && pair.server->is_closed);
}

/* ---- flow control -------------------------------------------------------- */

enum { LARGE = 4 << 20, PEER_WINDOW = 65535 };

static char *make_large(void)
{
    char *data = g_malloc(LARGE);

    for (size_t i = 0; i < LARGE; i++)
        data[i] = (char)(i * 7 + i / 251);
    return data;
}

static void check_slow_stream(struct world *world, struct peer *from,
                              struct peer *to, struct peer_stream *source,
                              struct peer_stream *sink)
{
    g_autofree char *data = make_large();

    sink->is_slow = true;
    peer_send(from, source, data, LARGE, true);
    world_run(world);
    g_assert_cmpuint(sink->body->len, ==, PEER_WINDOW);
    g_assert_cmpuint(source->sent, <=, PEER_WINDOW + HTTP2_WINDOW);
    world_expect_alive(world);
    peer_hurry(to, sink);
    world_run(world);
    g_assert_true(sink->is_whole);
    g_assert_cmpmem(sink->body->str, sink->body->len, data, LARGE);
}

static void test_slow_download(void)
{
    world_auto struct world *world = world_new();
    struct pair pair = start(world, "GET", "/large", true);

    peer_answer(server_of(world), pair.server, OK, false);
    check_slow_stream(world, server_of(world), guest_of(world), pair.server,
                      pair.guest);
}

static void test_slow_upload(void)
{
    world_auto struct world *world = world_new();
    struct pair pair = start(world, "PUT", "/large", false);

    check_slow_stream(world, guest_of(world), server_of(world), pair.guest,
                      pair.server);
}

/* A guest that reads nothing at all, with many streams. */
static void test_stopped_guest(void)
{
    world_auto struct world *world = world_new();
    g_autofree char *data = make_large();
    struct pair pairs[20];
    size_t sent = 0;

    for (int i = 0; i < 20; i++) {
        g_autofree char *path = g_strdup_printf("/%d", i);

        pairs[i] = start(world, "GET", path, true);
    }
    guest_of(world)->holds = true;
    for (int i = 0; i < 20; i++) {
        peer_answer(server_of(world), pairs[i].server, OK, false);
        peer_send(server_of(world), pairs[i].server, data, LARGE / 4, true);
    }
    world_run(world);
    for (int i = 0; i < 20; i++)
        sent += pairs[i].server->sent;
    g_assert_cmpuint(sent, <=, HTTP2_WINDOWS + 2 * HTTP2_OUTPUT);
    guest_of(world)->holds = false;
    world_run(world);
    for (int i = 0; i < 20; i++)
        g_assert_cmpmem(pairs[i].guest->body->str, pairs[i].guest->body->len,
                        data, LARGE / 4);
}

/* Streams that end early must give their window back to the others. */
static void test_window_of_reset_streams(void)
{
    world_auto struct world *world = world_new();
    g_autofree char *data = make_large();

    for (int i = 0; i < 20; i++) {
        g_autofree char *path = g_strdup_printf("/%d", i);
        struct pair pair = start(world, "PUT", path, false);

        pair.server->is_slow = true;
        peer_send(guest_of(world), pair.guest, data, LARGE / 8, true);
        world_run(world);
        peer_reset(i % 2 ? guest_of(world) : server_of(world),
                   i % 2 ? pair.guest : pair.server, NGHTTP2_CANCEL);
        world_run(world);
        g_assert_true(pair.guest->is_closed && pair.server->is_closed);
    }
    {
        struct pair pair = start(world, "PUT", "/last", false);

        peer_send(guest_of(world), pair.guest, data, LARGE, true);
        world_run(world);
        g_assert_cmpuint(pair.server->body->len, ==, LARGE);
    }
}

/* ---- ends ---------------------------------------------------------------- */

static void test_reset_by_guest(void)
{
    world_auto struct world *world = world_new();
    struct pair open = start(world, "POST", "/open", false);
    struct pair whole = start(world, "GET", "/whole", true);

    peer_reset(guest_of(world), open.guest, NGHTTP2_CANCEL);
    peer_reset(guest_of(world), whole.guest, NGHTTP2_INTERNAL_ERROR);
    world_run(world);
    g_assert_true(open.server->is_closed && whole.server->is_closed);
    g_assert_cmpuint(open.server->code, ==, NGHTTP2_CANCEL);
    g_assert_cmpuint(whole.server->code, ==, NGHTTP2_INTERNAL_ERROR);
    world_expect_alive(world);
    expect_told(world, "POST /open 0\nGET /whole 0\nGET /alive 200\n");
}

static void test_reset_by_server(void)
{
    world_auto struct world *world = world_new();
    struct pair none = start(world, "GET", "/none", true);
    struct pair half = start(world, "GET", "/half", true);

    peer_reset(server_of(world), none.server, NGHTTP2_REFUSED_STREAM);
    peer_answer(server_of(world), half.server, OK, false);
    peer_send(server_of(world), half.server, "half", 4, false);
    world_run(world);
    peer_reset(server_of(world), half.server, NGHTTP2_NO_ERROR);
    world_run(world);
    g_assert_cmpuint(none.guest->code, ==, NGHTTP2_REFUSED_STREAM);
    g_assert_true(half.guest->is_closed && !half.guest->is_whole);
    g_assert_cmpuint(half.guest->code, ==, NGHTTP2_CANCEL);
    world_expect_alive(world);
}

/* RFC 9113, 8.1: the response is whole, the request need not be sent. */
static void test_early_response(void)
{
    world_auto struct world *world = world_new();
    struct pair pair = start(world, "PUT", "/", false);

    peer_answer(server_of(world), pair.server, ":status: 413\n", false);
    peer_send(server_of(world), pair.server, "too large", 9, true);
    world_run(world);
    g_assert_true(pair.guest->is_whole && !pair.guest->is_closed);
    peer_reset(server_of(world), pair.server, NGHTTP2_NO_ERROR);
    world_run(world);
    g_assert_true(pair.guest->is_closed);
    g_assert_cmpuint(pair.guest->code, ==, NGHTTP2_NO_ERROR);
    g_assert_cmpstr(pair.guest->body->str, ==, "too large");
    world_expect_alive(world);
}

static void expect_over(struct world *world)
{
    const struct http_relay_ops *ops = world->relay->ops;

    g_assert_true(ops->is_over(world->relay, HTTP_GUEST));
    g_assert_true(ops->is_over(world->relay, HTTP_SERVER));
    g_assert_null(ops->problem(world->relay));
}

static void test_goaway_by_server(void)
{
    world_auto struct world *world = world_new();
    struct pair done = start(world, "GET", "/done", true);
    struct pair late = start(world, "GET", "/late", true);

    nghttp2_submit_goaway(server_of(world)->session, NGHTTP2_FLAG_NONE,
                          done.server->id, NGHTTP2_NO_ERROR, NULL, 0);
    world_run(world);
    g_assert_cmpuint(guest_of(world)->goaways, ==, 1);
    g_assert_cmpuint(late.guest->code, ==, NGHTTP2_REFUSED_STREAM);
    peer_answer(server_of(world), done.server, OK, false);
    peer_send(server_of(world), done.server, "done", 4, true);
    world_run(world);
    g_assert_cmpstr(done.guest->body->str, ==, "done");
    expect_over(world);
}

static void test_goaway_by_guest(void)
{
    world_auto struct world *world = world_new();
    struct pair pair = start(world, "GET", "/", true);

    nghttp2_submit_goaway(guest_of(world)->session, NGHTTP2_FLAG_NONE, 0,
                          NGHTTP2_NO_ERROR, NULL, 0);
    world_run(world);
    g_assert_cmpuint(server_of(world)->goaways, ==, 1);
    peer_answer(server_of(world), pair.server, OK, true);
    world_run(world);
    g_assert_true(pair.guest->is_whole);
    expect_over(world);
}

/* ---- secrets ------------------------------------------------------------- */

static void test_secrets(void)
{
    world_auto struct world *world = world_new();
    struct peer_stream *guest = world_request(
        world, "GET", "/",
        "authorization: Bearer " PLACEHOLDER "\nx-api-key: " PLACEHOLDER "\n",
        true);
    struct peer_stream *server;

    world_run(world);
    server = world_find(world, "/");
    g_assert_nonnull(
        strstr(server->head->str, "authorization: Bearer " SECRET "\n"));
    g_assert_nonnull(strstr(server->head->str, "x-api-key: " SECRET "\n"));
    g_assert_cmpuint(server->secrets, ==, 2);
    peer_answer(server_of(world), server, OK "x-echo: " SECRET "\n", true);
    world_run(world);
    g_assert_cmpstr(guest->head->str, ==, OK "x-echo: " PLACEHOLDER "\n");
}

static void test_secrets_in_trailers(void)
{
    world_auto struct world *world = world_new();
    struct pair pair = start(world, "POST", "/", false);

    pair.guest->trailer = "x-api-key: " PLACEHOLDER;
    peer_send_trailer(guest_of(world), pair.guest);
    world_run(world);
    g_assert_true(pair.server->is_closed && !pair.server->is_whole);
    g_assert_nonnull(
        strstr(world->told->str, "POST / 0 refused: a placeholder "));

    /* Also of a request that has its response. */
    pair = start(world, "POST", "/1", false);
    peer_answer(server_of(world), pair.server, OK, true);
    world_run(world);
    pair.guest->trailer = "x-api-key: " PLACEHOLDER;
    peer_send_trailer(guest_of(world), pair.guest);
    world_run(world);
    g_assert_nonnull(
        strstr(world->told->str, "POST /1 0 refused: a placeholder "));

    pair = start(world, "GET", "/2", true);
    pair.server->trailer = "x-echo: " SECRET;
    peer_answer(server_of(world), pair.server, OK, false);
    peer_send_trailer(server_of(world), pair.server);
    world_run(world);
    g_assert_cmpstr(pair.guest->trailers->str, ==, "x-echo: " PLACEHOLDER "\n");
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/a request and its response pass", test_exchange);
    g_test_add_func("/bytes may come one by one", test_bytes);
    g_test_add_func("/a hundred streams pass in parallel", test_parallel);
    g_test_add_func("/responses without a body pass", test_without_body);
    g_test_add_func("/trailers pass both ways", test_trailers);
    g_test_add_func("/interim responses pass", test_interim);
    g_test_add_func("/each event passes at once", test_events);
    g_test_add_func("/a stream goes both ways", test_both_ways);
    g_test_add_func("/a slow download stops its server alone",
                    test_slow_download);
    g_test_add_func("/a slow upload stops its guest alone", test_slow_upload);
    g_test_add_func("/a guest that reads nothing stops the server",
                    test_stopped_guest);
    g_test_add_func("/streams that were reset give their window back",
                    test_window_of_reset_streams);
    g_test_add_func("/the server hears of a guest's reset",
                    test_reset_by_guest);
    g_test_add_func("/the guest hears of a server's reset",
                    test_reset_by_server);
    g_test_add_func("/an early response stops the request",
                    test_early_response);
    g_test_add_func("/a server's GOAWAY lets its streams end",
                    test_goaway_by_server);
    g_test_add_func("/a guest's GOAWAY lets its streams end",
                    test_goaway_by_guest);
    g_test_add_func("/secrets are put in and taken out", test_secrets);
    g_test_add_func("/trailers have no secrets", test_secrets_in_trailers);
    return g_test_run();
}
