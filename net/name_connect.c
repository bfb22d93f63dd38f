/* SPDX-License-Identifier: Apache-2.0
 *
 * name_connect - see name_connect.h.
 */
#include "net/name_connect.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"
#include "net/shares.h"
#include "net/tcp_log.h"

static struct {
    name_connect_open open;
    void *opaque;
    struct {
        bool used;
        struct network_address address;
        unsigned port;
    } peers[SHARES_FILES]; /* by fd */
} state;

void name_connect_set(name_connect_open open, void *opaque)
{
    state.open = open;
    state.opaque = opaque;
}

static int put_in_place(int fd, const struct network_address *address,
                        unsigned port)
{
    fd_auto int other = -1;

    if (fd < 0 || fd >= SHARES_FILES)
        return -EMFILE;
    other = state.open(address, port, state.opaque);
    if (other < 0)
        return other;
    if (dup3(other, fd, O_CLOEXEC) < 0)
        return -errno;
    state.peers[fd].used = true;
    state.peers[fd].address = *address;
    state.peers[fd].port = port;
    return 0;
}

static void log_target(int fd, const struct sockaddr *address, socklen_t length)
{
    struct network_address target = { 0 };
    struct sockaddr_in6 in6;
    struct sockaddr_in in;

    if (length >= sizeof(in) && address->sa_family == AF_INET) {
        memcpy(&in, address, sizeof(in));
        memcpy(target.bytes, &in.sin_addr, 4);
        tcp_log_begin(fd, &target, ntohs(in.sin_port));
    } else if (length >= sizeof(in6) && address->sa_family == AF_INET6) {
        memcpy(&in6, address, sizeof(in6));
        target.v6 = true;
        memcpy(target.bytes, &in6.sin6_addr, 16);
        tcp_log_begin(fd, &target, ntohs(in6.sin6_port));
    }
}

/* libslirp's calls arrive here. Errors as in connect(2). */
int connect(int fd, const struct sockaddr *address, socklen_t length)
{
    struct network_address target = { 0 };
    struct sockaddr_in in;
    int rc = -ENOENT;

    if (state.open && length >= sizeof(in) && address->sa_family == AF_INET) {
        memcpy(&in, address, sizeof(in));
        memcpy(target.bytes, &in.sin_addr, 4);
        rc = put_in_place(fd, &target, ntohs(in.sin_port));
    }
    if (rc == -ENOENT) {
        log_target(fd, address, length);
        return (int)syscall(SYS_connect, fd, address, length);
    }
    errno = -rc;
    return rc == 0 ? 0 : -1;
}

bool name_connect_peer(int fd, struct network_address *ret_address,
                       unsigned *ret_port)
{
    if (fd < 0 || fd >= SHARES_FILES || !state.peers[fd].used)
        return false;
    *ret_address = state.peers[fd].address;
    *ret_port = state.peers[fd].port;
    return true;
}

void name_connect_forget(int fd)
{
    tcp_log_end(fd);
    if (fd >= 0 && fd < SHARES_FILES)
        state.peers[fd].used = false;
}
