/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests of jsonl.h: channels that share a main loop.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/jsonl.h"

enum { MAX_LINE = 1 << 20, LINES = 5000 };

struct end {
    struct jsonl_channel *channel;
    int peer;
    unsigned lines;
    bool closed;
};

static void on_line(struct jsonl_channel *channel, enum jsonl_status status,
                    json_t *message, const char *error, void *opaque)
{
    struct end *end = opaque;

    g_assert_cmpint(status, ==, JSONL_OK);
    g_assert_cmpint(json_integer_value(json_object_get(message, "n")), ==,
                    end->lines);
    end->lines++;
}

static void on_closed(struct jsonl_channel *channel, void *opaque)
{
    struct end *end = opaque;

    end->closed = true;
}

static const struct jsonl_callbacks callbacks = {
    .line = on_line,
    .closed = on_closed,
};

static void open_end(struct end *end)
{
    int fds[2];

    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), ==, 0);
    end->channel = jsonl_channel_new(fds[0], fds[0], MAX_LINE, MAX_LINE,
                                     &callbacks, end);
    end->peer = fds[1];
}

static void send_lines(const struct end *end, unsigned count)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (unsigned i = 0; i < count; i++)
        g_string_append_printf(text, "{\"n\":%u}\n", i);
    /* In one piece, for which the socket has room. */
    g_assert_cmpint(write(end->peer, text->str, text->len), ==, text->len);
}

/* All lines are delivered in their order, and then the end of the input. */
static void test_flood(void)
{
    struct end flood = { 0 }, other = { 0 };

    open_end(&flood);
    open_end(&other);
    send_lines(&flood, LINES);
    close(flood.peer);
    send_lines(&other, 1);
    while (other.lines == 0)
        g_main_context_iteration(NULL, TRUE);
    g_assert_cmpuint(flood.lines, <, 500);
    while (!flood.closed)
        g_main_context_iteration(NULL, TRUE);
    g_assert_cmpuint(flood.lines, ==, LINES);
    jsonl_channel_free(flood.channel);
    jsonl_channel_free(other.channel);
    close(other.peer);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/jsonl/a flood of lines delays no other channel",
                    test_flood);
    return g_test_run();
}
