/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_relay - see cli_relay.h.
 *
 * Each direction has one buffer and blocks only itself.
 */
#include "agent/cli/cli_relay.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/unix_socket.h"

struct flow {
    int from, to;
    char data[65536];
    size_t start, end; /* of what is not written yet */
    bool ended;        /* from has no more */
};

static gboolean fail(GError **error, const char *what, int number)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR, "%s: %s", what,
                g_strerror(number));
    return FALSE;
}

static bool is_transient(int number)
{
    return number == EINTR || number == EAGAIN;
}

/* Move what can be moved without blocking; revents are of from and to. Return
 * false if "to" takes no more. */
static bool move(struct flow *flow, short from, short to)
{
    ssize_t n;

    if (from && flow->start == flow->end && !flow->ended) {
        n = read(flow->from, flow->data, sizeof(flow->data));
        flow->start = 0;
        flow->end = n > 0 ? (size_t)n : 0;
        flow->ended = n == 0 || (n < 0 && !is_transient(errno));
    } else if (to && flow->start < flow->end) {
        n = write(flow->to, flow->data + flow->start, flow->end - flow->start);
        if (n < 0 && !is_transient(errno))
            return false;
        flow->start += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static void watch(const struct flow *flow, struct pollfd *from,
                  struct pollfd *to)
{
    bool empty = flow->start == flow->end;

    *from = (struct pollfd){ .fd = empty && !flow->ended ? flow->from : -1,
                             .events = POLLIN };
    *to = (struct pollfd){ .fd = empty ? -1 : flow->to, .events = POLLOUT };
}

/* Return 0 when the peer has closed and all was written, or -errno. */
static int copy(struct flow *up, struct flow *down)
{
    bool is_shut = false;

    while (!down->ended || down->start < down->end) {
        struct pollfd p[4];

        watch(up, &p[0], &p[1]);
        watch(down, &p[2], &p[3]);
        if (poll(p, G_N_ELEMENTS(p), -1) < 0 && errno != EINTR)
            return -errno;
        if (!move(down, p[2].revents, p[3].revents))
            return -errno; /* our reader has ended */
        /* A peer that takes no more may still send. */
        if (!move(up, p[0].revents, p[1].revents))
            up->start = up->end = 0;
        if (up->ended && up->start == up->end && !is_shut) {
            is_shut = true;
            shutdown(up->to, SHUT_WR);
        }
    }
    return up->ended ? 0 : -ECONNRESET;
}

gboolean cli_relay(const char *path, int in, int out, GError **error)
{
    fd_auto int fd = unix_socket_connect(path, 0);
    g_autofree struct flow *up = g_new0(struct flow, 1);
    g_autofree struct flow *down = g_new0(struct flow, 1);
    int err;

    if (fd < 0)
        return fail(error, path, -fd);
    up->from = in;
    up->to = down->from = fd;
    down->to = out;
    err = copy(up, down);
    return err == 0 || fail(error, "the sandbox's connection", -err);
}
