/* SPDX-License-Identifier: Apache-2.0
 *
 * vu_message - see vu_message.h.
 */
#include "virtiofs/vhost/vu_message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "common/fd.h"
#include "common/fd_message.h"

#define HEAD_SIZE sizeof(((struct vu_message *)NULL)->head)

_Static_assert(sizeof(((struct vu_message *)NULL)->head) == 12, "head");
_Static_assert(sizeof(struct vhost_ring_addresses) == 40, "addresses");
_Static_assert(sizeof(struct guest_region) == 32, "region");

void vu_message_init(struct vu_message *message)
{
    *message = (struct vu_message){ 0 };
}

/* Read up to size bytes at `at`. Return as vu_message_receive(). */
static int receive_bytes(int socket, struct vu_message *message, void *at,
                         size_t size)
{
    struct fd_room room = { message->fds, VU_MAX_FDS, message->n_fds };
    ssize_t n = fd_message_receive(socket, at, size, MSG_DONTWAIT, &room);

    message->n_fds = (unsigned)room.count;
    if (n < 0)
        return n == -EINTR ? -EAGAIN : (int)n;
    if (n == 0)
        return 0;
    message->have += (size_t)n;
    return 1;
}

int vu_message_receive(int socket, struct vu_message *message)
{
    int r;

    while (message->have < HEAD_SIZE) {
        r = receive_bytes(socket, message,
                          (char *)&message->head + message->have,
                          HEAD_SIZE - message->have);
        if (r <= 0)
            return r;
    }
    if ((message->head.flags & VU_VERSION_MASK) != VU_VERSION ||
        message->head.size > sizeof(message->payload))
        return -EPROTO;
    while (message->have < HEAD_SIZE + message->head.size) {
        size_t done = message->have - HEAD_SIZE;

        r = receive_bytes(socket, message, message->payload.bytes + done,
                          message->head.size - done);
        if (r <= 0)
            return r;
    }
    return 1;
}

int vu_message_take_fd(struct vu_message *message)
{
    return message->n_fds > 0 ? fd_steal(&message->fds[0]) : -1;
}

void vu_message_clear(struct vu_message *message)
{
    for (unsigned i = 0; i < message->n_fds; i++)
        fd_close(&message->fds[i]);
    vu_message_init(message);
}

int vu_message_reply(int socket, struct vu_message *message, size_t size)
{
    struct iovec iov[2] = { { &message->head, HEAD_SIZE },
                            { &message->payload, size } };
    struct msghdr header = { .msg_iov = iov, .msg_iovlen = 2 };
    ssize_t n;

    message->head.flags = VU_VERSION | VU_REPLY;
    message->head.size = (uint32_t)size;
    /* A reply is short. A front-end with a full socket does not read, so do not
     * wait for it. */
    n = sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0)
        return -errno;
    return (size_t)n == HEAD_SIZE + size ? 0 : -EPROTO;
}
