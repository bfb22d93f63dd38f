/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy-http2-hostile-test - guests and servers that break HTTP/2, flood the
 * relay, or end without notice (proxy/http2_relay.h).
 */
#include <string.h>

#include "proxy/http2_parts.h"
#include "tests/proxy/http2_peers.h"

#define OK ":status: 200\n"

/* The side has broken the protocol: it gets a GOAWAY, and both ends are over.
 */
static void expect_failed(struct world *world, enum http_side side,
                          uint32_t code)
{
    const struct http_relay_ops *ops = world->relay->ops;
    const char *who = side == HTTP_GUEST ? "the guest" : "the server";

    world_run(world);
    g_assert_nonnull(ops->problem(world->relay));
    g_assert_true(g_str_has_prefix(ops->problem(world->relay), who));
    g_assert_true(code == 0 || world->peers[side].goaway_code == code);
    g_assert_true(ops->is_over(world->relay, HTTP_GUEST));
    g_assert_true(ops->is_over(world->relay, HTTP_SERVER));
    g_assert_cmpint(ops->take(world->relay, side, (const uint8_t *)"x", 1), ==,
                    -1);
}

/* ---- limits -------------------------------------------------------------- */

static void test_too_many_streams(void)
{
    world_auto struct world *world = world_new();
    unsigned refused = 0;

    /* Before the guest knows the limit. */
    for (int i = 0; i < HTTP2_STREAMS + 10; i++)
        world_request(world, "GET", "/", NULL, true);
    world_run(world);
    for (guint i = 0; i < guest_of(world)->streams->len; i++) {
        struct peer_stream *stream = g_ptr_array_index(guest_of(world)->streams,
                                                       i);

        g_assert_true(!stream->is_closed ||
                      stream->code == NGHTTP2_REFUSED_STREAM);
        refused += stream->is_closed;
    }
    g_assert_cmpuint(server_of(world)->streams->len, <=, HTTP2_STREAMS);
    g_assert_cmpuint(refused, <=, 10);
}

static void test_limit_of_server(void)
{
    world_auto struct world *world = world_new();
    const nghttp2_settings_entry limit = {
        NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 3
    };

    nghttp2_submit_settings(server_of(world)->session, NGHTTP2_FLAG_NONE,
                            &limit, 1);
    world_run(world);
    g_assert_cmpuint(
        nghttp2_session_get_remote_settings(
            guest_of(world)->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS),
        ==, 3);
}

/* The guest has the last limit of many, also of those that came before it has
 * acknowledged one. */
static void test_many_limits(void)
{
    world_auto struct world *world = world_new();

    world_run(world);
    for (uint32_t i = 0; i < 200; i++) {
        const nghttp2_settings_entry limit = {
            NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, i % 2 ? 5 : 7 + i
        };

        guest_of(world)->holds = i % 20 < 10;
        nghttp2_submit_settings(server_of(world)->session, NGHTTP2_FLAG_NONE,
                                &limit, 1);
        world_run(world);
    }
    g_assert_cmpuint(
        nghttp2_session_get_remote_settings(
            guest_of(world)->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS),
        ==, 5);
    world_expect_alive(world);
}

/* Frames of a raw guest, whose SETTINGS are sent already. */
static void inject(struct world *world, enum http_side side, unsigned count,
                   uint8_t type, uint8_t flags, int32_t id, const char *payload,
                   size_t length)
{
    for (unsigned i = 0; i < count; i++)
        peer_inject_frame(&world->peers[side], type, flags, id, payload,
                          length);
}

static const struct flood {
    uint8_t type, flags;
    int32_t id;
    const char *payload;
    size_t length;
} floods[] = {
    { NGHTTP2_PING, 0, 0, "12345678", 8 },
    { NGHTTP2_SETTINGS, 0, 0, "", 0 },
    { NGHTTP2_PRIORITY, 0, 7, "\0\0\0\0\1", 5 },
    { NGHTTP2_DATA, 0, 1, "", 0 },
    { 200, 0, 0, "", 0 }, /* an unknown type */
};

static void test_floods(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(floods) * 2; i++) {
        const struct flood *flood = &floods[i / 2];
        enum http_side side = i % 2 ? HTTP_SERVER : HTTP_GUEST;
        world_auto struct world *world = world_new();

        world_request(world, "PUT", "/", NULL, false);
        world_run(world);
        if (side == HTTP_SERVER)
            peer_answer(server_of(world), world_find(world, "/"), OK, false);
        world_run(world);
        /* A few are no flood. */
        inject(world, side, 50, flood->type, flood->flags, flood->id,
               flood->payload, flood->length);
        world_run(world);
        g_assert_false(world->has_failed);
        inject(world, side, 20000, flood->type, flood->flags, flood->id,
               flood->payload, flood->length);
        /* The peer's session knows nothing of the SETTINGS. */
        expect_failed(
            world, side,
            flood->type == NGHTTP2_SETTINGS ? 0 : NGHTTP2_ENHANCE_YOUR_CALM);
    }
}

/* Acknowledgements that the guest does not read. */
static void test_unread_acks(void)
{
    world_auto struct world *world = world_new();

    world_run(world);
    guest_of(world)->holds = true;
    inject(world, HTTP_GUEST, 500, NGHTTP2_PING, 0, 0, "12345678", 8);
    world_run(world);
    g_assert_true(world->has_failed);
    guest_of(world)->holds = false;
    expect_failed(world, HTTP_GUEST, NGHTTP2_ENHANCE_YOUR_CALM);
}

static void test_continuations(void)
{
    world_auto struct world *world = world_new();

    world_run(world);
    inject(world, HTTP_GUEST, 1, NGHTTP2_HEADERS, 0, 1, "\x82", 1);
    inject(world, HTTP_GUEST, 100, NGHTTP2_CONTINUATION, 0, 1, "", 0);
    world_run(world);
    g_assert_true(world->has_failed);
}

static void test_rapid_resets(void)
{
    world_auto struct world *world = world_new();
    unsigned i;

    for (i = 0; i < 2000 && !world->has_failed; i++) {
        struct peer_stream *stream = world_request(world, "GET", "/", NULL,
                                                   true);

        world_run(world);
        peer_reset(guest_of(world), stream, NGHTTP2_CANCEL);
        world_run(world);
    }
    g_assert_cmpuint(i, >, 500);
    g_assert_cmpuint(i, <, 2000);
}

/* ---- peers that do not read ------------------------------------------------
 */

static bool wants(struct world *world, enum http_side side)
{
    return world->relay->ops->wants(world->relay, side);
}

/* Each stream above the limit causes a RST_STREAM. */
static void test_unread_resets(void)
{
    world_auto struct world *world = world_new();

    guest_of(world)->holds = true;
    world_run(world);
    for (int i = 0; i < 5000; i++)
        peer_inject_frame(guest_of(world), NGHTTP2_HEADERS,
                          NGHTTP2_FLAG_END_HEADERS, 2 * i + 1, "\x82", 1);
    world_run(world);
    g_assert_false(world->has_failed);
    g_assert_false(wants(world, HTTP_GUEST));
    g_assert_cmpuint(guest_of(world)->out->len, >, 0);
    guest_of(world)->holds = false;
    world_run(world);
    g_assert_cmpuint(guest_of(world)->out->len, ==, 0);
}

static void test_unread_responses(void)
{
    world_auto struct world *world = world_new();
    g_autofree char *fields = g_strdup_printf(OK "x-long: %060000d\n", 0);
    struct peer_stream *streams[20];

    for (int i = 0; i < 20; i++)
        streams[i] = world_request(world, "GET", "/", NULL, true);
    world_run(world);
    guest_of(world)->holds = true;
    for (guint i = 0; i < 20; i++)
        peer_answer(server_of(world),
                    g_ptr_array_index(server_of(world)->streams, i), fields,
                    true);
    world_run(world);
    g_assert_false(wants(world, HTTP_SERVER));
    guest_of(world)->holds = false;
    world_run(world);
    for (int i = 0; i < 20; i++)
        g_assert_true(streams[i]->is_whole && streams[i]->is_closed);
}

/* Requests are refused, for the frames behind them may be what the server waits
 * for. */
static void test_waiting_requests(void)
{
    world_auto struct world *world = world_new();
    g_autofree char *fields = g_strdup_printf("x-long: %060000d\n", 0);
    unsigned refused = 0;

    world_run(world);
    server_of(world)->holds = true;
    for (int i = 0; i < 20; i++)
        world_request(world, "GET", "/", fields, true);
    world_run(world);
    g_assert_true(wants(world, HTTP_GUEST));
    for (guint i = 0; i < 20; i++) {
        struct peer_stream *stream = g_ptr_array_index(guest_of(world)->streams,
                                                       i);

        g_assert_true(!stream->is_closed ||
                      stream->code == NGHTTP2_REFUSED_STREAM);
        refused += stream->is_closed;
    }
    server_of(world)->holds = false;
    world_run(world);
    g_assert_cmpuint(server_of(world)->streams->len, ==, 20 - refused);
    g_assert_cmpuint(refused, >=, 20 - HTTP2_HEADS / 60000);
    g_assert_cmpuint(refused, <, 20);
    world_expect_alive(world);
}

/* Requests that were reset before the server got them. */
static void test_cancelled_requests(void)
{
    world_auto struct world *world = world_new();
    g_autofree char *fields = g_strdup_printf("x-long: %060000d\n", 0);

    world_run(world);
    for (int i = 0; i < 20; i++) {
        struct peer_stream *stream;

        server_of(world)->holds = true;
        world_request(world, "GET", "/", NULL, true); /* fills the output */
        world_run(world);
        stream = world_request(world, "GET", "/cancelled", fields, true);
        world_run(world);
        peer_reset(guest_of(world), stream, NGHTTP2_CANCEL);
        world_run(world);
        server_of(world)->holds = false;
        world_run(world);
        g_assert_cmpuint(stream->code, ==, NGHTTP2_CANCEL);
    }
    g_assert_null(world_find(world, "/cancelled"));
    world_request(world, "GET", "/long", fields, true);
    world_run(world);
    g_assert_nonnull(world_find(world, "/long"));
}

/* ---- other bytes --------------------------------------------------------- */

static void test_garbage_of_the_guest(void)
{
    world_auto struct world *world = world_new();

    g_string_append(guest_of(world)->out, "GET / HTTP/1.1\r\n\r\n0123456789");
    world_run(world);
    g_assert_true(world->has_failed);
}

static void test_garbage_of_the_server(void)
{
    world_auto struct world *world = world_new();

    g_string_append(server_of(world)->out, "HTTP/1.1 400 Bad Request\r\n\r\n");
    world_run(world);
    g_assert_true(world->has_failed);
    g_assert_cmpuint(guest_of(world)->goaway_code, ==, NGHTTP2_INTERNAL_ERROR);
}

static void test_push(void)
{
    world_auto struct world *world = world_new();

    world_request(world, "GET", "/", NULL, true);
    world_run(world);
    inject(world, HTTP_SERVER, 1, NGHTTP2_PUSH_PROMISE,
           NGHTTP2_FLAG_END_HEADERS, 1, "\0\0\0\2\x82\x87\x84", 7);
    expect_failed(world, HTTP_SERVER, NGHTTP2_PROTOCOL_ERROR);
    g_assert_cmpuint(guest_of(world)->streams->len, ==, 1);
}

/* More bytes than the window allows. */
static void test_window_exceeded(void)
{
    world_auto struct world *world = world_new();
    static char data[16384];
    struct peer_stream *stream = world_request(world, "PUT", "/", NULL, false);

    world_run(world);
    server_of(world)->holds = true;
    inject(world, HTTP_GUEST, (HTTP2_WINDOW >> 14) + 2, NGHTTP2_DATA, 0,
           stream->id, data, sizeof(data));
    world_run(world);
    g_assert_true(stream->is_closed || world->has_failed);
}

/* ---- ends without a GOAWAY ----------------------------------------------- */

static void test_end_of_guest(void)
{
    world_auto struct world *world = world_new();
    struct peer_stream *whole = world_request(world, "GET", "/whole", NULL,
                                              true);

    world_request(world, "PUT", "/half", NULL, false);
    world_run(world);
    world->relay->ops->end(world->relay, HTTP_GUEST);
    world_run(world);
    g_assert_cmpuint(world_find(world, "/half")->code, ==, NGHTTP2_CANCEL);
    g_assert_false(world->relay->ops->is_over(world->relay, HTTP_GUEST));
    peer_answer(server_of(world), world_find(world, "/whole"), OK, true);
    world_run(world);
    g_assert_true(whole->is_whole);
    g_assert_true(world->relay->ops->is_over(world->relay, HTTP_GUEST));
    g_assert_true(world->relay->ops->is_over(world->relay, HTTP_SERVER));
    g_assert_cmpuint(server_of(world)->goaways, ==, 1);
}

static void test_end_of_server(void)
{
    world_auto struct world *world = world_new();
    g_autofree char *data = g_malloc0(200000);
    struct peer_stream *whole = world_request(world, "GET", "/whole", NULL,
                                              true);
    struct peer_stream *half = world_request(world, "GET", "/half", NULL, true);

    whole->is_slow = true;
    world_run(world);
    peer_answer(server_of(world), world_find(world, "/whole"), OK, false);
    peer_send(server_of(world), world_find(world, "/whole"), data, 200000,
              true);
    peer_answer(server_of(world), world_find(world, "/half"), OK, false);
    world_run(world);
    world->relay->ops->end(world->relay, HTTP_SERVER);
    world_run(world);
    g_assert_cmpuint(half->code, ==, NGHTTP2_INTERNAL_ERROR);
    g_assert_cmpuint(guest_of(world)->goaways, ==, 1);
    g_assert_false(whole->is_whole);
    g_assert_false(world->relay->ops->is_over(world->relay, HTTP_GUEST));
    peer_hurry(guest_of(world), whole);
    world_run(world);
    g_assert_true(whole->is_whole);
    g_assert_cmpuint(whole->body->len, ==, 200000);
    g_assert_true(world->relay->ops->is_over(world->relay, HTTP_GUEST));
    g_assert_true(world->relay->ops->is_over(world->relay, HTTP_SERVER));
}

static unsigned begun(struct world *world)
{
    return world->relay->ops->begun_head(world->relay);
}

/* Of the list of fields in a HEADERS frame and those that continue it. */
static void test_begun_head(void)
{
    static const char half[] = { 0, 0, 1, NGHTTP2_CONTINUATION, 4, 0, 0, 0, 1 };
    world_auto struct world *world = world_new();

    world_run(world);
    g_assert_cmpuint(begun(world), ==, 0);
    inject(world, HTTP_GUEST, 1, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM, 1,
           "\x82\x87\x84", 3);
    world_run(world);
    g_assert_cmpuint(begun(world), ==, 1);
    /* The frame that ends it lacks its last byte. */
    peer_inject(guest_of(world), half, sizeof(half));
    world_run(world);
    g_assert_cmpuint(begun(world), ==, 1);
    peer_inject(guest_of(world), "\x83", 1);
    world_run(world);
    g_assert_cmpuint(begun(world), ==, 0);
    inject(world, HTTP_GUEST, 1, NGHTTP2_HEADERS, 0, 3, "\x82", 1);
    world_run(world);
    g_assert_cmpuint(begun(world), ==, 2);
}

int main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/streams above the limit are refused",
                    test_too_many_streams);
    g_test_add_func("/the guest gets the server's limit", test_limit_of_server);
    g_test_add_func("/the guest gets the last of many limits",
                    test_many_limits);
    g_test_add_func("/a begun head is known", test_begun_head);
    g_test_add_func("/floods end the connection", test_floods);
    g_test_add_func("/unread acknowledgements end the connection",
                    test_unread_acks);
    g_test_add_func("/a guest that reads no resets is stopped",
                    test_unread_resets);
    g_test_add_func("/a guest that reads no responses stops the server",
                    test_unread_responses);
    g_test_add_func("/requests that a server does not read are refused",
                    test_waiting_requests);
    g_test_add_func("/requests that were reset do not count",
                    test_cancelled_requests);
    g_test_add_func("/CONTINUATION floods end the connection",
                    test_continuations);
    g_test_add_func("/rapid resets end the connection", test_rapid_resets);
    g_test_add_func("/other protocols of the guest end the connection",
                    test_garbage_of_the_guest);
    g_test_add_func("/other protocols of the server end the connection",
                    test_garbage_of_the_server);
    g_test_add_func("/server push ends the connection", test_push);
    g_test_add_func("/the windows bound what is held", test_window_exceeded);
    g_test_add_func("/a guest's end lets responses pass", test_end_of_guest);
    g_test_add_func("/a server's end lets whole responses pass",
                    test_end_of_server);
    return g_test_run();
}
