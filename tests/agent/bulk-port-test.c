/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests of bulk_port.h: a guest that does not keep to the protocol.
 */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/machine/bulk_port.h"
#include "common/errors.h"
#include "shim/wire.h"

struct rig {
    struct bulk_port *port;
    int guest;  /* the guest's end; -1: closed */
    char *mark; /* of the last request to restart */
    unsigned opened, ended;
    struct bulk_totals totals;
    char *error; /* of the last end; NULL: success */
};

static void on_opened(struct bulk_transfer *transfer, void *opaque)
{
    ((struct rig *)opaque)->opened++;
}

static void on_ended(struct bulk_transfer *transfer,
                     const struct bulk_totals *totals, const GError *error,
                     void *opaque)
{
    struct rig *rig = opaque;

    rig->ended++;
    rig->totals = *totals;
    g_free(rig->error);
    rig->error = error ? g_strdup(error->message) : NULL;
}

static const struct bulk_callbacks callbacks = { on_opened, on_ended };

static void on_restart(const char *mark, void *opaque)
{
    struct rig *rig = opaque;

    g_free(rig->mark);
    rig->mark = g_strdup(mark);
}

static void set_up(struct rig *rig, gconstpointer data)
{
    int ends[2];

    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), ==, 0);
    rig->port = bulk_port_new(ends[0], on_restart, rig);
    rig->guest = ends[1];
}

static void tear_down(struct rig *rig, gconstpointer data)
{
    bulk_port_free(rig->port);
    if (rig->guest >= 0)
        close(rig->guest);
    g_free(rig->error);
    g_free(rig->mark);
}

static struct bulk_transfer *start(struct rig *rig, bool in)
{
    const struct bulk_request request = { .in = in, .path = "/x" };

    return bulk_port_start(rig->port, &request, &callbacks, rig, NULL);
}

static void settle(void)
{
    for (int i = 0; i < 50; i++) {
        if (!g_main_context_iteration(NULL, FALSE))
            g_usleep(200);
    }
}

static void say(struct rig *rig, guint32 id, enum bulk_type type,
                const void *payload, guint32 len)
{
    const struct bulk_frame frame = { id, type, len };
    unsigned char header[BULK_HEADER];

    bulk_put_header(header, &frame);
    g_assert_cmpint(send(rig->guest, header, BULK_HEADER, 0), ==, BULK_HEADER);
    while (len > 0) {
        ssize_t put = send(rig->guest, payload, len, MSG_DONTWAIT);

        settle();
        if (put > 0) {
            payload = (const char *)payload + put;
            len -= (guint32)put;
        }
    }
    settle();
}

/* Return the type of the next frame to the guest; 0: there is none. */
static enum bulk_type hear(struct rig *rig)
{
    unsigned char header[BULK_HEADER], payload[BULK_MAX_PAYLOAD];
    struct pollfd fd = { rig->guest, POLLIN, 0 };
    struct bulk_frame frame;

    settle();
    if (poll(&fd, 1, 0) == 0)
        return 0;
    g_assert_cmpint(recv(rig->guest, header, BULK_HEADER, MSG_WAITALL), ==,
                    BULK_HEADER);
    frame = bulk_get_header(header);
    if (frame.len > 0)
        g_assert_cmpint(recv(rig->guest, payload, frame.len, MSG_WAITALL), ==,
                        frame.len);
    return frame.type;
}

static void test_credit(struct rig *rig, gconstpointer data)
{
    static const char block[BULK_MAX_PAYLOAD];

    start(rig, false);
    g_assert_cmpint(hear(rig), ==, BULK_OPEN);
    say(rig, 1, BULK_OPENED, NULL, 0);
    g_assert_cmpuint(rig->opened, ==, 1);
    for (int i = 0; i < BULK_WINDOW / BULK_MAX_PAYLOAD; i++)
        say(rig, 1, BULK_DATA, block, BULK_MAX_PAYLOAD);
    g_assert_cmpint(hear(rig), ==, 0);
    say(rig, 1, BULK_DATA, "x", 1);
    g_assert_cmpint(hear(rig), ==, BULK_CANCEL);
    /* It ends with its reason even if the guest claims success. */
    say(rig, 1, BULK_END, block, BULK_END_PAYLOAD);
    g_assert_cmpuint(rig->ended, ==, 1);
    g_assert_cmpstr(rig->error, ==, "the guest sent more than its credit");
}

static void test_strays(struct rig *rig, gconstpointer data)
{
    char text[64];

    start(rig, true);
    g_assert_cmpint(hear(rig), ==, BULK_OPEN);
    for (guint32 id = 0; id < 4; id++) {
        for (unsigned type = 0; type < 12; type++)
            say(rig, id == 1 ? 99 : id, type == BULK_END ? 0 : type, "abc", 3);
    }
    say(rig, 1, BULK_DATA, "abc", 3); /* into the guest: none is expected */
    say(rig, 1, BULK_CREDIT, "\xff\xff\xff\xff", 4);
    say(rig, 1, BULK_CREDIT, "abc", 3);
    say(rig, 1, BULK_OPEN, "abc", 3);
    g_assert_cmpuint(rig->opened + rig->ended, ==, 0);
    say(rig, 1, BULK_OPENED, NULL, 0);
    say(rig, 1, BULK_OPENED, NULL, 0);
    g_assert_cmpuint(rig->opened, ==, 1);
    /* An end before the client's is a failure. */
    memset(text, 0xff, sizeof(text));
    say(rig, 1, BULK_END, text, BULK_END_PAYLOAD);
    g_assert_cmpstr(rig->error, ==, "the guest ended the copy before its end");
}

static void test_early_end(struct rig *rig, gconstpointer data)
{
    static const char totals[BULK_END_PAYLOAD];

    start(rig, false);
    g_assert_cmpint(hear(rig), ==, BULK_OPEN);
    say(rig, 1, BULK_END, totals, BULK_END_PAYLOAD);
    g_assert_cmpuint(rig->ended, ==, 1);
    g_assert_cmpstr(rig->error, ==, "the guest ended the copy before its end");
}

static void test_text(struct rig *rig, gconstpointer data)
{
    static const char text[] = "a\033[2J\n\xff\0b";

    start(rig, false);
    g_assert_cmpint(hear(rig), ==, BULK_OPEN);
    say(rig, 1, BULK_ERROR, text, sizeof(text));
    g_assert_cmpuint(rig->ended, ==, 1);
    g_assert_true(g_utf8_validate(rig->error, -1, NULL));
    g_assert_null(strpbrk(rig->error, "\033\n"));
}

static void test_garbage(struct rig *rig, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    const struct bulk_request request = { .path = "/x" };

    start(rig, false);
    start(rig, true);
    settle();
    g_assert_cmpint(send(rig->guest, "\1\0\0\0\3\377\377\377", 8, 0), ==, 8);
    settle();
    g_assert_cmpuint(rig->ended, ==, 2);
    g_assert_nonnull(strstr(rig->error, "invalid frame"));
    g_assert_null(
        bulk_port_start(rig->port, &request, &callbacks, rig, &error));
    g_assert_nonnull(strstr(error->message, "restart the session"));
}

static void test_lost(struct rig *rig, gconstpointer data)
{
    signal(SIGPIPE, SIG_IGN);
    close(rig->guest);
    rig->guest = -1;
    g_assert_nonnull(start(rig, false));
    g_assert_cmpuint(rig->ended, ==, 0);
    settle();
    g_assert_cmpuint(rig->ended, ==, 1);
}

static void test_deaf(struct rig *rig, gconstpointer data)
{
    struct bulk_transfer *transfer = start(rig, false);
    gint64 begun = g_get_monotonic_time();

    g_assert_cmpint(hear(rig), ==, BULK_OPEN);
    say(rig, 1, BULK_OPENED, NULL, 0);
    bulk_transfer_cancel(transfer, "enough");
    while (!rig->ended &&
           g_get_monotonic_time() < begun + 30 * G_TIME_SPAN_SECOND)
        g_main_context_iteration(NULL, TRUE);
    g_assert_cmpstr(rig->error, ==, "enough");
}

/* Require the mark as the next bytes to the guest. */
static void hear_mark(struct rig *rig)
{
    char mark[WIRE_BULK_MARK];

    settle();
    g_assert_cmpint(recv(rig->guest, mark, sizeof(mark), MSG_WAITALL), ==,
                    sizeof(mark));
    g_assert_cmpmem(mark, sizeof(mark), rig->mark, strlen(rig->mark));
}

static void test_interrupted(struct rig *rig, gconstpointer data)
{
    static const char torn[] = "\1\0\0\0\3\377\377\377 of a frame";

    start(rig, false);
    start(rig, true);
    g_assert_cmpint(hear(rig), ==, BULK_OPEN);
    g_assert_cmpint(hear(rig), ==, BULK_OPEN);
    g_assert_cmpint(send(rig->guest, "\1\0\0\0\3", 5, 0), ==, 5);
    settle();
    bulk_port_interrupt(rig->port);
    g_assert_cmpuint(rig->ended, ==, 2);
    g_assert_nonnull(strstr(rig->error, "copy again"));
    g_assert_null(rig->mark); /* not before there is a copy */
    bulk_port_interrupt(rig->port);
    send(rig->guest, torn, sizeof(torn), 0);
    settle();

    for (int i = 0; i < 2; i++) {
        g_assert_nonnull(start(rig, false));
        hear_mark(rig);
        g_assert_cmpint(hear(rig), ==, BULK_OPEN);
        if (i == 0)
            bulk_port_interrupt(rig->port);
    }
    send(rig->guest, torn, sizeof(torn), 0);
    settle();
    send(rig->guest, rig->mark, 20, 0);
    settle();
    send(rig->guest, rig->mark + 20, WIRE_BULK_MARK - 20, 0);
    say(rig, 4, BULK_OPENED, NULL, 0);
    g_assert_cmpuint(rig->opened, ==, 1);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, function)                                                    \
    g_test_add("/bulk-port/" name, struct rig, NULL, set_up, function,         \
               tear_down)
    ADD("a guest that exceeds its credit ends its copy", test_credit);
    ADD("frames out of place have no effect", test_strays);
    ADD("a copy that ends before it is opened has failed", test_early_end);
    ADD("the guest's reason is printable", test_text);
    ADD("bytes that are not frames end all copies", test_garbage);
    ADD("a lost port calls back from the main loop only", test_lost);
    ADD("after an end of the guest's process, copies begin at a mark",
        test_interrupted);
    ADD("a cancelled copy ends although the guest does not answer", test_deaf);
    return g_test_run();
}
