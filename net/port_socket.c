/* SPDX-License-Identifier: Apache-2.0
 *
 * port_socket - see port_socket.h.
 */
#include "net/port_socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/errors.h"

int port_socket_receive(int channel, GError **error)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    char byte;
    struct iovec data = { &byte, sizeof(byte) };
    struct msghdr message = {
        .msg_iov = &data,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof(control),
    };
    struct cmsghdr *header = NULL;
    int fd = -1;

    if (recvmsg(channel, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) > 0)
        header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET &&
        header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(&fd, CMSG_DATA(header), sizeof(fd));
    if (fd < 0)
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                            "published port: no socket was received");
    return fd;
}
