/* SPDX-License-Identifier: Apache-2.0
 *
 * shim-pump-test - the shim's 9P pump.
 *
 * A socket replaces the port, and the test the kernel's client.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shim/pump.h"

enum { TIMEOUT_MS = 20000, HEADER = 7, VERSION_SIZE = 21 };

struct rig {
    pid_t pid;
    int host;   /* the port's other end */
    int writer; /* the client writes requests here */
    int reader; /* and reads replies here */
};

static void pair(int ends[2], int flags)
{
    g_assert_no_errno(socketpair(AF_UNIX, SOCK_STREAM | flags, 0, ends));
}

static void start(struct rig *rig, gconstpointer data)
{
    int port[2], sock[2], pipe_ends[2];

    pair(port, SOCK_NONBLOCK);
    pair(sock, 0);
    g_assert_no_errno(pipe(pipe_ends));
    g_assert_cmpint(fcntl(pipe_ends[0], F_SETPIPE_SZ, PUMP_PIPE_SIZE), >, 0);
    rig->pid = fork();
    if (rig->pid == 0) {
        close(port[0]);
        close(sock[0]);
        close(pipe_ends[1]);
        alarm(60);
        pump_catch_term();
        _exit(pump_run(port[1], pipe_ends[0], sock[1]));
    }
    close(port[1]);
    close(sock[1]);
    close(pipe_ends[0]);
    rig->host = port[0];
    rig->writer = pipe_ends[1];
    rig->reader = sock[0];
}

static int wait_for_end(struct rig *rig)
{
    int status;

    g_assert_cmpint(waitpid(rig->pid, &status, 0), ==, rig->pid);
    rig->pid = 0;
    g_assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void stop(struct rig *rig, gconstpointer data)
{
    close_end(&rig->host);
    close_end(&rig->writer);
    close_end(&rig->reader);
    if (rig->pid)
        wait_for_end(rig);
}

/* Write everything, as slowly as the reader takes it. */
static void put(int fd, const void *data, size_t len)
{
    const char *at = data;

    while (len > 0) {
        struct pollfd p = { fd, POLLOUT, 0 };
        ssize_t n;

        g_assert_cmpint(poll(&p, 1, TIMEOUT_MS), ==, 1);
        n = write(fd, at, len);
        if (n < 0 && errno == EAGAIN)
            continue;
        g_assert_cmpint(n, >, 0);
        at += n;
        len -= (size_t)n;
    }
}

static void get(int fd, void *data, size_t len)
{
    char *at = data;

    while (len > 0) {
        struct pollfd p = { fd, POLLIN, 0 };
        ssize_t n;

        g_assert_cmpint(poll(&p, 1, TIMEOUT_MS), ==, 1);
        n = read(fd, at, len);
        g_assert_cmpint(n, >, 0);
        at += n;
        len -= (size_t)n;
    }
}

static bool is_quiet(int fd)
{
    struct pollfd p = { fd, POLLIN, 0 };

    return poll(&p, 1, 100) == 0;
}

/* Make a message of this size with distinguishable bytes. The caller frees it.
 */
static unsigned char *make_message(uint32_t size, unsigned seed)
{
    unsigned char *message = g_malloc(MAX(size, (uint32_t)HEADER));

    for (uint32_t i = 0; i < size; i++)
        message[i] = (unsigned char)(i * 7 + i / 251 + seed);
    for (int i = 0; i < 4; i++)
        message[i] = (unsigned char)(size >> (8 * i));
    return message;
}

static void expect(int fd, const unsigned char *message, uint32_t size)
{
    g_autofree unsigned char *got = g_malloc(size);

    get(fd, got, size);
    g_assert_cmpmem(got, size, message, size);
}

/* ---- requests ------------------------------------------------------------ */

static void test_requests(struct rig *rig, gconstpointer data)
{
    static const uint32_t sizes[] = { HEADER, 11, 4096, 65536, PUMP_MSIZE };

    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        g_autofree unsigned char *message = make_message(sizes[i], (unsigned)i);

        put(rig->writer, message, sizes[i]);
        expect(rig->host, message, sizes[i]);
    }
}

/* A host that does not read delays requests, but no replies. */
static void test_slow_host(struct rig *rig, gconstpointer data)
{
    g_autofree unsigned char *big = make_message(PUMP_MSIZE, 1);
    g_autofree unsigned char *small = make_message(100, 2);

    put(rig->writer, big, PUMP_MSIZE);
    g_usleep(50000);
    for (int i = 0; i < 3; i++) {
        put(rig->host, small, 100);
        expect(rig->reader, small, 100);
    }
    put(rig->writer, small, 100);
    expect(rig->host, big, PUMP_MSIZE);
    expect(rig->host, small, 100);
}

/* ---- answers ------------------------------------------------------------- */

/* However the data is split, the client gets whole messages. */
static void test_boundaries(struct rig *rig, gconstpointer data)
{
    g_autofree unsigned char *first = make_message(5000, 1);
    g_autofree unsigned char *second = make_message(HEADER, 2);
    g_autofree unsigned char *third = make_message(300, 3);

    for (size_t cut = 1; cut < 5000; cut += cut < 10 ? 1 : 1663) {
        put(rig->host, first, cut);
        g_assert_true(is_quiet(rig->reader));
        put(rig->host, first + cut, 5000 - cut);
        expect(rig->reader, first, 5000);
    }
    /* Two and a half messages at once: two arrive. */
    put(rig->host, first, 5000);
    put(rig->host, second, HEADER);
    put(rig->host, third, 150);
    expect(rig->reader, first, 5000);
    expect(rig->reader, second, HEADER);
    g_assert_true(is_quiet(rig->reader));
    put(rig->host, third + 150, 150);
    expect(rig->reader, third, 300);
}

static void test_large(struct rig *rig, gconstpointer data)
{
    g_autofree unsigned char *message = make_message(PUMP_MSIZE, 5);

    for (int i = 0; i < 4; i++) {
        put(rig->host, message, PUMP_MSIZE - 1);
        g_assert_true(is_quiet(rig->reader));
        put(rig->host, message + PUMP_MSIZE - 1, 1);
        expect(rig->reader, message, PUMP_MSIZE);
    }
}

/* A client that does not read stops the host, and its own requests go on. */
static void test_slow_client(struct rig *rig, gconstpointer data)
{
    g_autofree unsigned char *message = make_message(PUMP_MSIZE, 5);
    size_t sent = 0;

    for (;;) {
        struct pollfd p = { rig->host, POLLOUT, 0 };
        ssize_t n;

        if (poll(&p, 1, 300) == 0)
            break;
        n = write(rig->host, message + sent % PUMP_MSIZE,
                  PUMP_MSIZE - sent % PUMP_MSIZE);
        if (n > 0)
            sent += (size_t)n;
        g_assert_cmpint(sent, <, 16 * PUMP_MSIZE);
    }
    put(rig->writer, message, 1000);
    expect(rig->host, message, 1000);
    for (size_t i = 0; i < sent / PUMP_MSIZE; i++)
        expect(rig->reader, message, PUMP_MSIZE);
}

/* The client never gets half a reply, not even at the end. */
static void test_torn(struct rig *rig, gconstpointer data)
{
    g_autofree unsigned char *message = make_message(4000, 1);
    char byte;

    put(rig->host, message, 3999);
    put(rig->writer, message, 100);
    expect(rig->host, message, 100);
    g_assert_true(is_quiet(rig->reader));
    close_end(&rig->host);
    g_assert_cmpint(wait_for_end(rig), ==, PUMP_HUNG_UP);
    g_assert_cmpint(read(rig->reader, &byte, 1), ==, 0);
}

static void test_sizes(struct rig *rig, gconstpointer data)
{
    static const uint32_t sizes[] = { 0,          1,
                                      HEADER - 1, PUMP_MSIZE + 1,
                                      1U << 30,   UINT32_MAX };

    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        unsigned char header[HEADER] = { 0 };
        char byte;

        if (i > 0)
            start(rig, NULL);
        for (int j = 0; j < 4; j++)
            header[j] = (unsigned char)(sizes[i] >> (8 * j));
        put(rig->host, header, HEADER);
        g_assert_cmpint(wait_for_end(rig), ==, PUMP_GARBLED);
        g_assert_cmpint(read(rig->reader, &byte, 1), ==, 0);
        stop(rig, NULL);
    }
}

/* ---- ends ---------------------------------------------------------------- */

static void test_unmount(struct rig *rig, gconstpointer data)
{
    g_autofree unsigned char *last = make_message(11, 1);

    /* The client's last data is transferred. */
    put(rig->writer, last, 11);
    close_end(&rig->writer);
    expect(rig->host, last, 11);
    close_end(&rig->reader);
    g_assert_cmpint(wait_for_end(rig), ==, PUMP_UNMOUNTED);
}

/* The client must not wait for a pump that was killed. */
static void test_killed(struct rig *rig, gconstpointer data)
{
    char byte;

    g_assert_no_errno(kill(rig->pid, SIGKILL));
    g_assert_cmpint(waitpid(rig->pid, NULL, 0), ==, rig->pid);
    rig->pid = 0;
    g_assert_cmpint(read(rig->reader, &byte, 1), ==, 0);
    signal(SIGPIPE, SIG_IGN);
    g_assert_cmpint(write(rig->writer, "x", 1), ==, -1);
    g_assert_cmpint(errno, ==, EPIPE);
}

/* When the machine shuts down, transfers in progress are completed. */
static void test_term(struct rig *rig, gconstpointer data)
{
    g_autofree unsigned char *message = make_message(500, 1);

    put(rig->writer, message, 500);
    expect(rig->host, message, 500);
    g_assert_no_errno(kill(rig->pid, SIGTERM));
    put(rig->host, message, 500);
    expect(rig->reader, message, 500);
    g_assert_cmpint(wait_for_end(rig), ==, PUMP_ASKED);
}

/* ---- the greeting -------------------------------------------------------- */

struct greeting {
    int host;
    pid_t pid;
    unsigned char answer[VERSION_SIZE];
};

/* The pump greets; its reply is made, but not sent. */
static void greet(struct greeting *greeting, int timeout_ms)
{
    int port[2];

    pair(port, SOCK_NONBLOCK);
    greeting->pid = fork();
    if (greeting->pid == 0) {
        struct timespec now;

        close(port[0]);
        clock_gettime(CLOCK_MONOTONIC, &now);
        _exit(-pump_greet(port[1], (int64_t)now.tv_sec * 1000 +
                                       now.tv_nsec / 1000000 + timeout_ms));
    }
    close(port[1]);
    greeting->host = port[0];
    get(port[0], greeting->answer, VERSION_SIZE);
    g_assert_cmpmem(greeting->answer, HEADER,
                    ((unsigned char[]){ 21, 0, 0, 0, 100, 255, 255 }), HEADER);
    g_assert_cmpmem(greeting->answer + 11, 10, "\x08\0009P2000.L", 10);
    greeting->answer[4] = 101;
}

static int greeted(struct greeting *greeting)
{
    int status;

    g_assert_cmpint(waitpid(greeting->pid, &status, 0), ==, greeting->pid);
    close(greeting->host);
    g_assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_greet(void)
{
    g_autofree unsigned char *stale = make_message(70000, 1);
    struct greeting greeting;
    unsigned char other[VERSION_SIZE];

    greet(&greeting, TIMEOUT_MS);
    put(greeting.host, greeting.answer, VERSION_SIZE);
    g_assert_cmpint(greeted(&greeting), ==, 0);

    /* Torn replies, half of one like it, and one to another process: discarded.
     */
    greet(&greeting, TIMEOUT_MS);
    put(greeting.host, stale + 3, 70000 - 3);
    put(greeting.host, greeting.answer, VERSION_SIZE / 2);
    memcpy(other, greeting.answer, VERSION_SIZE);
    other[8] ^= 1;
    put(greeting.host, other, VERSION_SIZE);
    put(greeting.host, greeting.answer, 5);
    g_usleep(50000);
    g_assert_cmpint(waitpid(greeting.pid, NULL, WNOHANG), ==, 0);
    put(greeting.host, greeting.answer + 5, VERSION_SIZE - 5);
    g_assert_cmpint(greeted(&greeting), ==, 0);
}

static void test_greet_in_vain(void)
{
    struct greeting greeting;
    unsigned char more[VERSION_SIZE + 1] = { 0 };

    greet(&greeting, 200);
    put(greeting.host, greeting.answer, VERSION_SIZE - 1);
    g_assert_cmpint(greeted(&greeting), ==, ETIMEDOUT);

    greet(&greeting, TIMEOUT_MS);
    close(greeting.host);
    greeting.host = -1;
    g_assert_cmpint(greeted(&greeting), ==, EPIPE);

    /* There is no request for what would follow. */
    greet(&greeting, TIMEOUT_MS);
    memcpy(more, greeting.answer, VERSION_SIZE);
    put(greeting.host, more, sizeof(more));
    g_assert_cmpint(greeted(&greeting), ==, EPROTO);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(struct rig *rig, gconstpointer data);
    } tests[] = {
        { "/shim-pump/requests", test_requests },
        { "/shim-pump/slow-host", test_slow_host },
        { "/shim-pump/boundaries", test_boundaries },
        { "/shim-pump/large", test_large },
        { "/shim-pump/slow-client", test_slow_client },
        { "/shim-pump/torn", test_torn },
        { "/shim-pump/sizes", test_sizes },
        { "/shim-pump/unmount", test_unmount },
        { "/shim-pump/killed", test_killed },
        { "/shim-pump/term", test_term },
    };

    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add(tests[i].name, struct rig, NULL, start, tests[i].run, stop);
    g_test_add_func("/shim-pump/greet", test_greet);
    g_test_add_func("/shim-pump/greet-in-vain", test_greet_in_vain);
    return g_test_run();
}
