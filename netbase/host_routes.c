/* SPDX-License-Identifier: Apache-2.0
 *
 * host_routes - see host_routes.h.
 */
#include "netbase/host_routes.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"

enum { CACHED = 256, GOOD_FOR_US = 3 * G_USEC_PER_SEC, ANSWER = 4096 };

struct host_routes {
    int fd;
    uint32_t sequence;
    struct entry {
        struct network_address address;
        gint64 until; /* 0: empty */
        bool is_host;
    } cache[CACHED];
};

struct request {
    struct nlmsghdr header;
    struct rtmsg route;
    struct rtattr target;
    uint8_t address[16];
};

struct host_routes *host_routes_new(GError **error)
{
    /* The kernel answers at once; the timeout is a safeguard. */
    const struct timeval patience = { .tv_usec = 200000 };
    struct host_routes *routes = g_new0(struct host_routes, 1);

    routes->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (routes->fd >= 0 && setsockopt(routes->fd, SOL_SOCKET, SO_RCVTIMEO,
                                      &patience, sizeof(patience)) == 0)
        return routes;
    g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                "cannot query the host's routes: %s", g_strerror(errno));
    host_routes_free(routes);
    return NULL;
}

void host_routes_free(struct host_routes *routes)
{
    if (!routes)
        return;
    fd_close(&routes->fd);
    g_free(routes);
}

static bool ask(struct host_routes *routes,
                const struct network_address *address)
{
    unsigned length = address->v6 ? 16 : 4;
    struct request request = {
        .header.nlmsg_type = RTM_GETROUTE,
        .header.nlmsg_flags = NLM_F_REQUEST,
        .header.nlmsg_seq = ++routes->sequence,
        .route.rtm_family = address->v6 ? AF_INET6 : AF_INET,
        .route.rtm_dst_len = (uint8_t)(length * 8),
        .target.rta_type = RTA_DST,
        .target.rta_len = (uint16_t)RTA_LENGTH(length),
    };

    memcpy(request.address, address->bytes, length);
    request.header.nlmsg_len = (uint32_t)(sizeof(request) - 16 + length);
    return send(routes->fd, &request, request.header.nlmsg_len, 0) ==
           (ssize_t)request.header.nlmsg_len;
}

/* Return the type of the route: RTN_UNREACHABLE if there is none, RTN_UNSPEC if
 * it is unknown. */
static unsigned take_answer(struct host_routes *routes)
{
    union {
        char bytes[ANSWER];
        struct nlmsghdr header;
    } answer;

    for (;;) {
        ssize_t n = recv(routes->fd, &answer, sizeof(answer), 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < (ssize_t)sizeof(answer.header) ||
            !NLMSG_OK(&answer.header, (unsigned)n))
            return RTN_UNSPEC;
        if (answer.header.nlmsg_seq != routes->sequence)
            continue;
        if (answer.header.nlmsg_type == NLMSG_ERROR)
            return RTN_UNREACHABLE;
        if (answer.header.nlmsg_type == RTM_NEWROUTE &&
            answer.header.nlmsg_len >= NLMSG_LENGTH(sizeof(struct rtmsg)))
            return ((struct rtmsg *)NLMSG_DATA(&answer.header))->rtm_type;
        return RTN_UNSPEC;
    }
}

static struct entry *find(struct host_routes *routes,
                          const struct network_address *address)
{
    unsigned hash = 5381;

    for (size_t i = 0; i < sizeof(address->bytes); i++)
        hash = hash * 33 + address->bytes[i];
    return &routes->cache[hash % CACHED];
}

bool host_routes_is_host(const struct network_address *address, void *opaque)
{
    struct host_routes *routes = opaque;
    struct entry *entry = find(routes, address);
    gint64 now = g_get_monotonic_time();

    if (entry->until <= now || entry->address.v6 != address->v6 ||
        memcmp(entry->address.bytes, address->bytes, 16) != 0) {
        unsigned type = ask(routes, address) ? take_answer(routes) : RTN_UNSPEC;

        entry->address = *address;
        entry->is_host = type == RTN_LOCAL || type == RTN_UNSPEC ||
                         type == RTN_BROADCAST || type == RTN_ANYCAST ||
                         type == RTN_MULTICAST;
        entry->until = now + GOOD_FOR_US;
    }
    return entry->is_host;
}
