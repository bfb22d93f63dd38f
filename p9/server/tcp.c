/* SPDX-License-Identifier: Apache-2.0
 *
 * tcp - see tcp.h.
 */
#include "p9/server/tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "common/errors.h"
#include "common/fd.h"

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static gboolean refuse(GError **error, const char *address, const char *why)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD, "--listen=%s: %s",
                address, why);
    return FALSE;
}

static bool is_loopback(const union address *address)
{
    if (address->any.sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
    return ntohl(address->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

static bool parse_host(const char *host, in_port_t port,
                       union address *ret_address, socklen_t *ret_size)
{
    size_t len = strlen(host);
    g_autofree char *inner = NULL;

    memset(ret_address, 0, sizeof(*ret_address));
    if (len > 2 && host[0] == '[' && host[len - 1] == ']') {
        inner = g_strndup(host + 1, len - 2);
        ret_address->v6.sin6_family = AF_INET6;
        ret_address->v6.sin6_port = port;
        *ret_size = sizeof(ret_address->v6);
        return inet_pton(AF_INET6, inner, &ret_address->v6.sin6_addr) == 1;
    }
    ret_address->v4.sin_family = AF_INET;
    ret_address->v4.sin_port = port;
    *ret_size = sizeof(ret_address->v4);
    return inet_pton(AF_INET, host, &ret_address->v4.sin_addr) == 1;
}

static gboolean parse(const char *text, union address *ret_address,
                      socklen_t *ret_size, GError **error)
{
    const char *colon = strrchr(text, ':');
    g_autofree char *host = colon ? g_strndup(text, (gsize)(colon - text))
                                  : NULL;
    guint64 port;

    if (!colon ||
        !g_ascii_string_to_unsigned(colon + 1, 10, 0, 65535, &port, NULL) ||
        !parse_host(host, htons((in_port_t)port), ret_address, ret_size))
        return refuse(error, text,
                      "not an address by number with a port; use e.g. "
                      "127.0.0.1:5640");
    if (!is_loopback(ret_address))
        return refuse(error, text,
                      "not a loopback address; 9P has no password, so use "
                      "127.0.0.1 or [::1]");
    return TRUE;
}

gboolean p9_tcp_check(const char *address, GError **error)
{
    union address parsed;
    socklen_t size;

    return parse(address, &parsed, &size, error);
}

static int fail(GError **error, const char *address)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                "cannot listen on %s: %s", address, g_strerror(errno));
    return -1;
}

/* Describe the address, with the port that the kernel chose if it was 0. */
static char *describe(int fd)
{
    union address address = { 0 };
    socklen_t size = sizeof(address);
    char host[INET6_ADDRSTRLEN] = "";

    getsockname(fd, &address.any, &size);
    if (address.any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &address.v6.sin6_addr, host, sizeof(host));
        return g_strdup_printf("[%s]:%u", host, ntohs(address.v6.sin6_port));
    }
    inet_ntop(AF_INET, &address.v4.sin_addr, host, sizeof(host));
    return g_strdup_printf("%s:%u", host, ntohs(address.v4.sin_port));
}

int p9_tcp_listen(const char *text, char **ret_where, GError **error)
{
    static const int on = 1;
    union address address;
    socklen_t size;
    fd_auto int fd = -1;

    if (!parse(text, &address, &size, error))
        return -1;
    fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    /* Connections inherit TCP_NODELAY: replies are small and clients wait for
     * them. */
    if (fd < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ||
        bind(fd, &address.any, size) < 0 || listen(fd, 64) < 0)
        return fail(error, text);
    *ret_where = describe(fd);
    return fd_steal(&fd);
}
