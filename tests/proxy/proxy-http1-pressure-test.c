/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy-http1-pressure-test - back-pressure in a relay of HTTP/1.x.
 */
#include <glib.h>
#include <string.h>

#include "tests/proxy/relay_talk.h"

enum { BULK = 1 << 20, BOUND = 256 << 10 };

/* A side that does not read stops the other one; a bounded number of bytes has
 * been taken until then. */
static void stall_in(enum http_side from, const char *before,
                     const char *request, size_t size)
{
    struct talk *talk = talk_new_whole(true);
    g_autofree char *bulk = g_strnfill(BULK, 'b');
    enum http_side to = from == HTTP_GUEST ? HTTP_SERVER : HTTP_GUEST;

    talk_send(talk, HTTP_GUEST, request, strlen(request), 1000);
    if (before)
        talk_send(talk, HTTP_SERVER, before, strlen(before), 1000);
    talk->stalled[to] = true;
    talk_send(talk, from, bulk, BULK, size);
    g_assert_false(talk->relay->ops->wants(talk->relay, from));
    g_assert_cmpuint(talk->sent[from]->len, >, BULK - BOUND);
    g_assert_cmpuint(talk->sent[from]->len, <, BULK);
    talk->stalled[to] = false;
    talk_pump(talk);
    g_assert_cmpuint(talk->sent[from]->len, ==, 0);
    g_assert_nonnull(strstr(talk->received[to]->str, bulk));
    talk_free(talk);
}

static void stall(enum http_side from, const char *before, const char *request)
{
    stall_in(from, before, request, 10000);
    stall_in(from, before, request, BULK);
}

static void test_bodies_wait_for_the_other_side(void)
{
    stall(HTTP_GUEST, NULL, POST "Content-Length: 1048576\r\n\r\n");
    stall(HTTP_GUEST, NULL, POST CHUNKED "\r\n100000\r\n");
    stall(HTTP_SERVER, OK "Content-Length: 1048576\r\n\r\n", REQUEST);
    stall(HTTP_SERVER, OK CHUNKED "\r\n100000\r\n", REQUEST);
    stall(HTTP_SERVER, OK "\r\n", REQUEST);
    stall(HTTP_SERVER, SWITCHED, UPGRADE);
    stall(HTTP_GUEST, SWITCHED, UPGRADE);
}

/* A guest that sends requests and reads nothing. */
static void test_refused_requests_wait_for_the_guest(void)
{
    static const char refused[] = "DELETE /x HTTP/1.1\r\n" HOST "\r\n";
    struct talk *talk = talk_new(true);
    unsigned count = BULK / (unsigned)strlen(refused);

    talk->stalled[HTTP_GUEST] = true;
    for (unsigned i = 0; i < count; i++)
        g_string_append(talk->sent[HTTP_GUEST], refused);
    talk_pump(talk);
    g_assert_false(talk->relay->ops->wants(talk->relay, HTTP_GUEST));
    g_assert_cmpuint(talk->sent[HTTP_GUEST]->len, >, BULK - BOUND);
    talk->stalled[HTTP_GUEST] = false;
    talk_pump(talk);
    g_assert_cmpuint(talk->sent[HTTP_GUEST]->len, ==, 0);
    g_assert_cmpuint(talk_count(talk->received[HTTP_GUEST], "HTTP/1.1 403"), ==,
                     count);
    talk_free(talk);
}

static void test_output_stays_in_its_place(void)
{
    static const char more[] = "and more of the same";
    struct talk *talk = talk_new_whole(true);
    struct http_relay *relay = talk->relay;
    g_autofree char *copy = NULL;
    const uint8_t *data;
    size_t length, again;

    talk_send(talk, HTTP_GUEST, REQUEST, strlen(REQUEST), 1000);
    talk->stalled[HTTP_GUEST] = true;
    talk_send(talk, HTTP_SERVER, OK "\r\nsome bytes", strlen(OK) + 12, 1000);
    data = relay->ops->output(relay, HTTP_GUEST, &length);
    copy = g_strndup((const char *)data, length);
    for (unsigned i = 0; i < 1000; i++)
        talk_send(talk, HTTP_SERVER, more, strlen(more), 1000);
    g_assert_true(relay->ops->output(relay, HTTP_GUEST, &again) == data);
    g_assert_cmpuint(again, ==, length);
    g_assert_cmpint(memcmp(copy, data, length), ==, 0);
    relay->ops->written(relay, HTTP_GUEST, 5);
    g_assert_true(relay->ops->output(relay, HTTP_GUEST, &again) == data + 5);
    g_assert_cmpuint(again, ==, length - 5);
    talk_free(talk);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pressure/bodies wait for the other side",
                    test_bodies_wait_for_the_other_side);
    g_test_add_func("/pressure/refused requests wait for the guest",
                    test_refused_requests_wait_for_the_guest);
    g_test_add_func("/pressure/output stays in its place",
                    test_output_stays_in_its_place);
    return g_test_run();
}
