/* SPDX-License-Identifier: Apache-2.0
 *
 * fd-message-test - file descriptors that come with a message.
 */
#include "common/fd_message.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/fd.h"

struct pair {
    int ends[2];
};

static void set_up(struct pair *pair, const void *data)
{
    g_assert_cmpint(
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair->ends), ==,
        0);
}

static void tear_down(struct pair *pair, const void *data)
{
    fd_close(&pair->ends[0]);
    fd_close(&pair->ends[1]);
}

static unsigned count_open(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned count = 0;

    g_assert_nonnull(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static void send_stdin(struct pair *pair, size_t count)
{
    int fds[FD_MESSAGE_MAX] = { 0 };

    g_assert_cmpint(fd_message_send(pair->ends[0], "hello", 5, fds, count, 0),
                    ==, 0);
}

static void test_close_on_exec(struct pair *pair, const void *data)
{
    int fds[3] = { -1, -1, -1 };
    struct fd_room room = { fds, G_N_ELEMENTS(fds), 0 };
    char text[8];

    send_stdin(pair, 2);
    g_assert_cmpint(
        fd_message_receive(pair->ends[1], text, sizeof(text), 0, &room), ==, 5);
    g_assert_cmpuint(room.count, ==, 2);
    g_assert_cmpint(fds[2], ==, -1);
    g_assert_true(fcntl(fds[1], F_GETFD) & FD_CLOEXEC);
    fd_close(&fds[0]);
    fd_close(&fds[1]);
}

static void test_surplus(struct pair *pair, const void *data)
{
    unsigned before = count_open();
    int fd = -1;
    struct fd_room room = { &fd, 1, 0 };
    char byte;

    send_stdin(pair, FD_MESSAGE_MAX);
    g_assert_cmpint(
        fd_message_receive(pair->ends[1], &byte, 1, MSG_TRUNC, &room), ==, 5);
    g_assert_cmpuint(room.count, ==, 1);
    g_assert_cmpuint(count_open(), ==, before + 1);

    /* The room is full. */
    send_stdin(pair, 1);
    g_assert_cmpint(fd_message_receive(pair->ends[1], &byte, 1, 0, &room), ==,
                    1);
    g_assert_cmpuint(count_open(), ==, before + 1);
    fd_close(&fd);
}

static void test_peek(struct pair *pair, const void *data)
{
    unsigned before = count_open();
    int fd = -1;
    struct fd_room room = { &fd, 1, 0 };
    char text[8];

    send_stdin(pair, 1);
    g_assert_cmpint(
        fd_message_receive(pair->ends[1], text, sizeof(text), MSG_PEEK, NULL),
        ==, 5);
    g_assert_cmpuint(count_open(), ==, before);
    g_assert_cmpint(
        fd_message_receive(pair->ends[1], text, sizeof(text), 0, &room), ==, 5);
    g_assert_cmpuint(room.count, ==, 1);
    fd_close(&fd);
}

static void test_errors(struct pair *pair, const void *data)
{
    int fd = -1;
    struct fd_room room = { &fd, 1, 0 };
    char byte;

    g_assert_cmpint(
        fd_message_receive(pair->ends[1], &byte, 1, MSG_DONTWAIT, &room), ==,
        -EAGAIN);
    fd_close(&pair->ends[0]);
    g_assert_cmpint(fd_message_receive(pair->ends[1], &byte, 1, 0, &room), ==,
                    0);
    g_assert_cmpint(fd_message_send(pair->ends[1], "x", 1, NULL, 0, 0), ==,
                    -EPIPE);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/fd-message/received fds are close-on-exec", struct pair, NULL,
               set_up, test_close_on_exec, tear_down);
    g_test_add("/fd-message/surplus fds are closed", struct pair, NULL, set_up,
               test_surplus, tear_down);
    g_test_add("/fd-message/a look at a message takes no fds", struct pair,
               NULL, set_up, test_peek, tear_down);
    g_test_add("/fd-message/errors and the end", struct pair, NULL, set_up,
               test_errors, tear_down);
    return g_test_run();
}
