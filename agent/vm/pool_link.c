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
#include "common/fd_message.h"

struct record {
    uint32_t type;
    int32_t a, b;
    char text[POOL_TEXT_MAX];
};

enum { HEADER = offsetof(struct record, text) };

int pool_link_send(int link, enum pool_message_type type, int32_t a, int32_t b,
                   const char *text, const int *fds, size_t n_fds)
{
    struct record record = { type, a, b, "" };
    size_t len = text ? MIN(strlen(text), (size_t)POOL_TEXT_MAX) : 0;

    memcpy(record.text, text ? text : "", len);
    return fd_message_send(link, &record, HEADER + len, fds, n_fds,
                           MSG_DONTWAIT);
}

/* room: as for fd_message_receive(). */
static int receive(int link, int flags, struct fd_room *room,
                   struct pool_message *ret_message)
{
    struct record record;
    ssize_t n;

    for (unsigned i = 0; i < POOL_FDS; i++)
        ret_message->fds[i] = -1;
    do
        n = fd_message_receive(link, &record, sizeof(record), flags | MSG_TRUNC,
                               room);
    while (n == -EINTR);
    ret_message->n_fds = room ? (unsigned)room->count : 0;
    if (n <= 0)
        return (int)n;
    if ((size_t)n < HEADER || (size_t)n > sizeof(record)) {
        pool_message_close(ret_message);
        return -EBADMSG;
    }
    ret_message->type = (enum pool_message_type)record.type;
    ret_message->a = record.a;
    ret_message->b = record.b;
    memcpy(ret_message->text, record.text, (size_t)n - HEADER);
    ret_message->text[(size_t)n - HEADER] = '\0';
    return 1;
}

int pool_link_receive(int link, struct pool_message *ret_message)
{
    struct fd_room room = { ret_message->fds, POOL_FDS, 0 };

    return receive(link, 0, &room, ret_message);
}

int pool_link_peek(int link, struct pool_message *ret_message)
{
    return receive(link, MSG_PEEK | MSG_DONTWAIT, NULL, ret_message);
}

void pool_message_close(struct pool_message *message)
{
    for (unsigned i = 0; i < POOL_FDS; i++)
        fd_close(&message->fds[i]);
    message->n_fds = 0;
}
