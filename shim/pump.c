/* SPDX-License-Identifier: Apache-2.0
 *
 * pump - see pump.h.
 *
 *   0      4      5     7
 *   | size | type | tag | ...    a 9P message, little-endian; size is the total
 */
#include "shim/pump.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    HEADER_SIZE = 7,
    TVERSION = 100,
    RVERSION = 101,
    MIN_MSIZE = 4096,
    IDLE_MS = 100, /* after SIGTERM */
};

static volatile sig_atomic_t asked_to_end;

/* ---- the greeting -------------------------------------------------------- */

#define VERSION_NAME "9P2000.L"

struct version_message {
    uint32_t size;
    uint8_t type;
    uint16_t tag;
    uint32_t msize;
    uint16_t len;
    char name[sizeof(VERSION_NAME) - 1];
} __attribute__((packed));

/* The unusual size makes the answer recognisable: the discarded data may
 * contain the answer to another Tversion. The size is so small that no server
 * reduces it; the client negotiates again. */
static struct version_message make_version(void)
{
    struct version_message message = {
        .size = htole32(sizeof(message)),
        .type = TVERSION,
        .tag = htole16(UINT16_MAX),
        .len = htole16(sizeof(message.name)),
    };
    uint32_t chance = 0;

    if (getrandom(&chance, sizeof(chance), GRND_NONBLOCK) < 0)
        chance = (uint32_t)getpid() * 2654435761U;
    message.msize = htole32(MIN_MSIZE + chance % MIN_MSIZE);
    memcpy(message.name, VERSION_NAME, sizeof(message.name));
    return message;
}

/* Wait until the port is ready. Return 0, -ETIMEDOUT, -EPIPE, or -errno. */
static int wait_for(int port, short events, int64_t deadline_ms)
{
    struct timespec now;
    int64_t left;

    for (;;) {
        struct pollfd fd = { port, events, 0 };
        int n;

        clock_gettime(CLOCK_MONOTONIC, &now);
        left = deadline_ms - (int64_t)now.tv_sec * 1000 - now.tv_nsec / 1000000;
        if (left <= 0)
            return -ETIMEDOUT;
        n = poll(&fd, 1, (int)(left < 1000 ? left : 1000));
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0 && (fd.revents & (POLLHUP | POLLERR | POLLNVAL)))
            return -EPIPE;
        if (n > 0)
            return 0;
    }
}

static int send_all(int port, const void *data, size_t len, int64_t deadline_ms)
{
    const char *at = data;

    while (len > 0) {
        int result = wait_for(port, POLLOUT, deadline_ms);
        ssize_t put;

        if (result)
            return result;
        put = write(port, at, len);
        if (put < 0 && errno != EAGAIN && errno != EINTR)
            return -errno;
        if (put > 0) {
            at += put;
            len -= (size_t)put;
        }
    }
    return 0;
}

int pump_greet(int port, int64_t deadline_ms)
{
    struct version_message message = make_version();
    unsigned char window[sizeof(message)] = { 0 };
    int result = send_all(port, &message, sizeof(message), deadline_ms);

    message.type = RVERSION;
    while (result == 0) {
        unsigned char bytes[4096];
        ssize_t got;

        result = wait_for(port, POLLIN, deadline_ms);
        if (result)
            break;
        got = read(port, bytes, sizeof(bytes));
        if (got == 0)
            return -EPIPE;
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            return -errno;
        for (ssize_t i = 0; i < got; i++) {
            memmove(window, window + 1, sizeof(window) - 1);
            window[sizeof(window) - 1] = bytes[i];
            /* This is the last answer before the client's own Tversion. */
            if (memcmp(window, &message, sizeof(window)) == 0)
                return i + 1 == got ? 0 : -EPROTO;
        }
    }
    return result;
}

/* ---- both directions ----------------------------------------------------- */

struct pump {
    int port, pipe, sock;
    bool port_is_full; /* the pipe has data that the port did not accept */

    /* replies: [start, whole) are complete messages, [whole, end) is a partial
     * one */
    size_t start, whole, end;
    enum pump_end why;
};

static unsigned char replies[PUMP_MSIZE];

static bool end_with(struct pump *pump, enum pump_end why)
{
    pump->why = why;
    return false;
}

/* Find the end of the last complete message. */
static bool scan(struct pump *pump)
{
    while (pump->end - pump->whole >= HEADER_SIZE) {
        uint32_t size;

        memcpy(&size, replies + pump->whole, sizeof(size));
        size = le32toh(size);
        if (size < HEADER_SIZE || size > PUMP_MSIZE)
            return end_with(pump, PUMP_GARBLED);
        if (size > pump->end - pump->whole)
            break;
        pump->whole += size;
    }
    return true;
}

/* Write complete messages to the client, as far as it accepts them. */
static bool deliver(struct pump *pump)
{
    while (pump->start < pump->whole) {
        ssize_t put = send(pump->sock, replies + pump->start,
                           pump->whole - pump->start,
                           MSG_DONTWAIT | MSG_NOSIGNAL);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0 && errno == EAGAIN)
            return true;
        if (put < 0)
            return end_with(pump, PUMP_UNMOUNTED);
        pump->start += (size_t)put;
    }
    memmove(replies, replies + pump->whole, pump->end - pump->whole);
    pump->end -= pump->whole;
    pump->start = pump->whole = 0;
    return true;
}

/* Read from the port. A read returns at most a page, so repeat it until the
 * port is empty or a message is complete. */
static bool gather(struct pump *pump)
{
    while (pump->whole == 0) {
        ssize_t got = read(pump->port, replies + pump->end,
                           sizeof(replies) - pump->end);

        if (got == 0)
            return end_with(pump, PUMP_HUNG_UP);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return true;
        if (got < 0)
            return end_with(pump, errno == EPIPE ? PUMP_HUNG_UP : PUMP_FAILED);
        pump->end += (size_t)got;
        if (!scan(pump))
            return false;
    }
    return deliver(pump);
}

/* Call only if the pipe has data: a splice from an empty pipe would return
 * 0. */
static bool forward(struct pump *pump)
{
    ssize_t put = splice(pump->pipe, NULL, pump->port, NULL, PUMP_PIPE_SIZE,
                         SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

    pump->port_is_full = put < 0 && errno == EAGAIN;
    if (put >= 0 || pump->port_is_full || errno == EINTR)
        return true;
    return end_with(pump, errno == EPIPE || errno == ENODEV ? PUMP_HUNG_UP
                                                            : PUMP_FAILED);
}

static bool serve(struct pump *pump, const struct pollfd *port,
                  const struct pollfd *pipe, const struct pollfd *sock)
{
    if (port->revents & (POLLHUP | POLLERR | POLLNVAL))
        return end_with(pump, PUMP_HUNG_UP);
    if (sock->revents & (POLLHUP | POLLERR | POLLNVAL))
        return end_with(pump, PUMP_UNMOUNTED);
    if ((pipe->revents & (POLLHUP | POLLERR)) && !(pipe->revents & POLLIN))
        return end_with(pump, PUMP_UNMOUNTED);
    if ((port->revents & POLLIN) && !gather(pump))
        return false;
    if ((sock->revents & POLLOUT) && !deliver(pump))
        return false;
    if ((pipe->revents & POLLIN) || (port->revents & POLLOUT))
        return forward(pump);
    return true;
}

enum pump_end pump_run(int port, int pipe, int sock)
{
    struct pump pump = { .port = port, .pipe = pipe, .sock = sock };

    for (;;) {
        bool delivers = pump.start < pump.whole;
        struct pollfd fds[] = {
            { port,
              (short)((delivers ? 0 : POLLIN) |
                      (pump.port_is_full ? POLLOUT : 0)),
              0 },
            { pump.port_is_full ? -1 : pipe, POLLIN, 0 },
            { sock, delivers ? POLLOUT : 0, 0 },
        };
        int n = poll(fds, sizeof(fds) / sizeof(fds[0]),
                     asked_to_end ? IDLE_MS : -1);

        if (n == 0)
            return PUMP_ASKED;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return PUMP_FAILED;
        if (!serve(&pump, &fds[0], &fds[1], &fds[2]))
            return pump.why;
    }
}

static void on_term(int number)
{
    asked_to_end = 1;
}

void pump_catch_term(void)
{
    struct sigaction action = { .sa_handler = on_term };

    sigaction(SIGTERM, &action, NULL);
}
