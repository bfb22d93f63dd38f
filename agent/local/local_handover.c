/* SPDX-License-Identifier: Apache-2.0
 *
 * local_handover - see local_handover.h.
 */
#include "agent/local/local_handover.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/fd.h"

static void take_fds(struct msghdr *header_of, struct local_handover *message)
{
    for (struct cmsghdr *header = CMSG_FIRSTHDR(header_of); header;
         header = CMSG_NXTHDR(header_of, header)) {
        size_t n = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < n; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(fd));
            if (message->n_fds < sizeof(message->fds) / sizeof(int))
                message->fds[message->n_fds++] = fd;
            else
                fd_close(&fd);
        }
    }
}

bool local_handover_receive(int socket, struct local_handover *ret_message)
{
    char text[LOCAL_MAX_TEXT + 1] = { 0 };
    struct iovec iov = { text, LOCAL_MAX_TEXT };
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * (LOCAL_MAX_FOLDERS + 1))];
    } rights;
    struct msghdr header = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = rights.bytes,
        .msg_controllen = sizeof(rights.bytes),
    };
    ssize_t n = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    *ret_message = (struct local_handover){ 0 };
    if (n <= 0)
        return true;
    take_fds(&header, ret_message);
    ret_message->type = text[0];
    memcpy(ret_message->text, text + 1, sizeof(text) - 1);
    return true;
}

void local_handover_close_fds(struct local_handover *message)
{
    while (message->n_fds > 0)
        fd_close(&message->fds[--message->n_fds]);
}
