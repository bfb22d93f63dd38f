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
    /* Lines in a row: no other end of "turns" had one between them. */
    const struct end **turns; /* whose line was the last one, or NULL */
    unsigned in_row, most_in_row;
};

static void on_line(struct jsonl_channel *channel, enum jsonl_status status,
                    json_t *message, const char *error, void *opaque)
{
    struct end *end = opaque;

    g_assert_cmpint(status, ==, JSONL_OK);
    g_assert_cmpint(json_integer_value(json_object_get(message, "n")), ==,
                    end->lines);
    end->lines++;
    if (!end->turns)
        return;
    end->in_row = *end->turns == end ? end->in_row + 1 : 1;
    end->most_in_row = MAX(end->most_in_row, end->in_row);
    *end->turns = end;
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

/* Each line ends with this many spaces. */
static void send_padded(const struct end *end, unsigned count, int spaces)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (unsigned i = 0; i < count; i++)
        g_string_append_printf(text, "{\"n\":%u}%*s\n", i, spaces, "");
    /* In one piece, for which the socket has room. */
    g_assert_cmpint(write(end->peer, text->str, text->len), ==, text->len);
}

static void send_lines(const struct end *end, unsigned count)
{
    send_padded(end, count, 0);
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

/* One read has all of the short lines, and about one of the long ones. */
static void test_turns(void)
{
    static const struct {
        unsigned lines;
        int spaces;
    } floods[] = { { 1000, 0 }, { 3, 50000 } };

    for (size_t i = 0; i < G_N_ELEMENTS(floods); i++) {
        const struct end *turns = NULL;
        struct end flood = { .turns = &turns }, other = { .turns = &turns };
        unsigned lines = floods[i].lines, others = lines / 2;

        open_end(&flood);
        open_end(&other);
        send_padded(&flood, lines, floods[i].spaces);
        send_padded(&other, others, floods[i].spaces);
        while (other.lines < others)
            g_main_context_iteration(NULL, TRUE);
        g_assert_cmpuint(flood.most_in_row, <=, 2);
        g_assert_cmpuint(flood.lines, <=, others + 2);
        while (flood.lines < lines)
            g_main_context_iteration(NULL, TRUE);
        jsonl_channel_free(flood.channel);
        jsonl_channel_free(other.channel);
        close(flood.peer);
        close(other.peer);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/jsonl/a flood of lines delays no other channel",
                    test_flood);
    g_test_add_func("/jsonl/channels with lines to deliver take turns",
                    test_turns);
    return g_test_run();
}
