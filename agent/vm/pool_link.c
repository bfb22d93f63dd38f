/* SPDX-License-Identifier: Apache-2.0
 *
 * pool_link - see pool_link.h.
 *
 *     0   type   uint32
 *     4   a      int32
 *     8   b      int32
 *     12  text   to the end of the message, without a NUL
 *
 * Both ends are the same program on the same host: bytes are in its order.
 */
#include "agent/vm/pool_link.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/fd.h"

struct header {
    uint32_t type;
    int32_t a, b;
};

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int) * POOL_FDS)];
};

int pool_link_send(int link, enum pool_message_type type, int32_t a, int32_t b,
                   const char *text, const int *fds, size_t n_fds)
{
    struct header header = { type, a, b };
    size_t len = text ? MIN(strlen(text), (size_t)POOL_TEXT_MAX) : 0;
    struct iovec parts[] = { { &header, sizeof(header) },
                             { (char *)text, len } };
    union control control = { 0 };
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

    if (n_fds > 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
        memcpy(CMSG_DATA(&control.header), fds, sizeof(int) * n_fds);
    }
    return sendmsg(link, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno
                                                                    : 0;
}

/* The kernel cuts more fds than there is room for, and closes them. */
static void take_fds(struct msghdr *from, struct pool_message *message)
{
    struct cmsghdr *part = CMSG_FIRSTHDR(from);

    if (!part || part->cmsg_level != SOL_SOCKET ||
        part->cmsg_type != SCM_RIGHTS)
        return;
    message->n_fds = (unsigned)((part->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    memcpy(message->fds, CMSG_DATA(part), sizeof(int) * message->n_fds);
}

static int receive(int link, int flags, struct pool_message *ret_message)
{
    struct header header;
    struct iovec parts[] = { { &header, sizeof(header) },
                             { ret_message->text, POOL_TEXT_MAX } };
    union control control = { 0 };
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
    ssize_t n;

    if (!(flags & MSG_PEEK)) {
        message.msg_control = &control;
        message.msg_controllen = sizeof(control);
    }
    for (unsigned i = 0; i < POOL_FDS; i++)
        ret_message->fds[i] = -1;
    ret_message->n_fds = 0;
    do
        n = recvmsg(link, &message, flags | MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n < 0 ? -errno : 0;
    if (message.msg_control)
        take_fds(&message, ret_message);
    if ((size_t)n < sizeof(header) || (message.msg_flags & MSG_TRUNC)) {
        pool_message_close(ret_message);
        return -EBADMSG;
    }
    ret_message->type = (enum pool_message_type)header.type;
    ret_message->a = header.a;
    ret_message->b = header.b;
    ret_message->text[(size_t)n - sizeof(header)] = '\0';
    return 1;
}

int pool_link_receive(int link, struct pool_message *ret_message)
{
    return receive(link, 0, ret_message);
}

int pool_link_peek(int link, struct pool_message *ret_message)
{
    return receive(link, MSG_PEEK | MSG_DONTWAIT, ret_message);
}

void pool_message_close(struct pool_message *message)
{
    for (unsigned i = 0; i < POOL_FDS; i++)
        fd_close(&message->fds[i]);
    message->n_fds = 0;
}
