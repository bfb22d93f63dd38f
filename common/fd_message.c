/* SPDX-License-Identifier: Apache-2.0
 *
 * fd_message - see fd_message.h.
 */
#include "common/fd_message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/fd.h"

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int) * FD_MESSAGE_MAX)];
};

int fd_message_send(int socket, const void *data, size_t length, const int *fds,
                    size_t count, int flags)
{
    struct iovec part = { (void *)data, length };
    union control control;
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

    if (count > FD_MESSAGE_MAX)
        return -E2BIG;
    if (count > 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        memset(&control, 0, message.msg_controllen);
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(&control.header), fds, sizeof(int) * count);
    }
    return sendmsg(socket, &message, flags | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void take_fds(struct msghdr *message, struct fd_room *room)
{
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part;
         part = CMSG_NXTHDR(message, part)) {
        size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < count; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(fd));
            if (room->count < room->max)
                room->fds[room->count++] = fd;
            else
                fd_close(&fd);
        }
    }
}

ssize_t fd_message_receive(int socket, void *data, size_t size, int flags,
                           struct fd_room *room)
{
    struct iovec part = { data, size };
    union control control;
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = room ? &control : NULL,
        .msg_controllen = room ? sizeof(control) : 0,
    };
    ssize_t n = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);

    if (n < 0)
        return -errno;
    if (room)
        take_fds(&message, room);
    return n;
}
