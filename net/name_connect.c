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
    if (rc == -ENOENT)
        return (int)syscall(SYS_connect, fd, address, length);
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
    if (fd >= 0 && fd < SHARES_FILES)
        state.peers[fd].used = false;
}
