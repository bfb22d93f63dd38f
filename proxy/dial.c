/* SPDX-License-Identifier: Apache-2.0
 *
 * dial - see dial.h.
 */
#include "proxy/dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "common/fd.h"

/* The next address is tried after this silence. */
enum { ATTEMPT = 2 * G_USEC_PER_SEC };

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static socklen_t fill(union address *to, const struct network_address *address,
                      unsigned port)
{
    memset(to, 0, sizeof(*to));
    if (address->v6) {
        to->v6.sin6_family = AF_INET6;
        to->v6.sin6_port = htons((uint16_t)port);
        memcpy(&to->v6.sin6_addr, address->bytes, 16);
        return sizeof(to->v6);
    }
    to->v4.sin_family = AF_INET;
    to->v4.sin_port = htons((uint16_t)port);
    memcpy(&to->v4.sin_addr, address->bytes, 4);
    return sizeof(to->v4);
}

static void drop_attempt(struct dial *dial)
{
    if (!dial->watch.added)
        return;
    poller_forget(dial->poller, &dial->watch);
    fd_close(&dial->fd);
}

/* Return whether an attempt has begun, also if it is already connected: that is
 * reported by the poller. */
static bool attempt(struct dial *dial, const struct network_address *address)
{
    union address to;
    socklen_t length = fill(&to, address, dial->port);
    int one = 1;
    fd_auto int fd = socket(to.any.sa_family,
                            SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int rc;

    if (fd < 0 || (connect(fd, &to.any, length) < 0 && errno != EINPROGRESS)) {
        dial->failure = errno;
        return false;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    rc = poller_watch(dial->poller, &dial->watch, fd, EPOLLOUT);
    if (rc < 0) {
        dial->failure = -rc;
        return false;
    }
    dial->fd = fd_steal(&fd);
    dial->until = g_get_monotonic_time() + ATTEMPT;
    return true;
}

static void try_next(struct dial *dial)
{
    drop_attempt(dial);
    while (dial->next < dial->count) {
        if (attempt(dial, &dial->addresses[dial->next++]))
            return;
    }
    dial->done(-dial->failure, NULL, dial->opaque);
}

static void on_ready(uint32_t events, void *opaque)
{
    struct dial *dial = opaque;
    int problem = 0, fd;
    socklen_t length = sizeof(problem);

    if (getsockopt(dial->fd, SOL_SOCKET, SO_ERROR, &problem, &length) < 0)
        problem = errno;
    if (problem == 0 && events & EPOLLOUT) {
        poller_forget(dial->poller, &dial->watch);
        fd = fd_steal(&dial->fd);
        dial->done(fd, &dial->addresses[dial->next - 1], dial->opaque);
        return;
    }
    dial->failure = problem ? problem : ECONNRESET;
    try_next(dial);
}

void dial_start(struct dial *dial, const struct network_address *addresses,
                unsigned count, unsigned port)
{
    dial->watch.ready = on_ready;
    dial->watch.opaque = dial;
    dial->count = MIN(count, DIAL_ADDRESSES);
    dial->next = 0;
    dial->port = port;
    memcpy(dial->addresses, addresses, dial->count * sizeof(*addresses));
    try_next(dial);
}

void dial_tick(struct dial *dial, int64_t now)
{
    /* The last address may take all the time that is left. */
    if (!dial->watch.added || now < dial->until || dial->next == dial->count)
        return;
    dial->failure = ETIMEDOUT;
    try_next(dial);
}

void dial_stop(struct dial *dial)
{
    drop_attempt(dial);
    dial->next = dial->count = 0;
}
