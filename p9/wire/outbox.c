/* SPDX-License-Identifier: Apache-2.0
 *
 * outbox - see outbox.h.
 *
 * Bytes are sent in this order: chunks, batch, new ones. So nothing is added to
 * the batch while there are chunks.
 */
#include "p9/wire/outbox.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { CHUNK = 65536 };

struct p9_outbox_chunk {
    struct p9_outbox_chunk *next;
    size_t at, end, room;
    uint8_t bytes[];
};

void p9_outbox_init(struct p9_outbox *outbox, int fd)
{
    *outbox = (struct p9_outbox){ .fd = fd };
    outbox->batch = g_malloc(P9_OUTBOX_BATCH);
}

static void drop_first(struct p9_outbox *outbox)
{
    struct p9_outbox_chunk *chunk = outbox->first;

    outbox->first = chunk->next;
    if (!outbox->first)
        outbox->last = NULL;
    g_free(chunk);
}

static void drop_all(struct p9_outbox *outbox)
{
    while (outbox->first)
        drop_first(outbox);
    outbox->kept = outbox->batched = 0;
}

void p9_outbox_clear(struct p9_outbox *outbox)
{
    drop_all(outbox);
    g_clear_pointer(&outbox->batch, g_free);
}

static void keep(struct p9_outbox *outbox, const uint8_t *bytes, size_t size)
{
    struct p9_outbox_chunk *chunk = outbox->last;

    if (size == 0)
        return;
    if (!chunk || chunk->room - chunk->end < size) {
        size_t room = MAX(size, CHUNK);

        chunk = g_try_malloc(sizeof(*chunk) + room);
        if (!chunk) {
            outbox->broken = true; /* a stream with a gap is useless */
            drop_all(outbox);
            return;
        }
        *chunk = (struct p9_outbox_chunk){ .room = room };
        if (outbox->last)
            outbox->last->next = chunk;
        else
            outbox->first = chunk;
        outbox->last = chunk;
    }
    memcpy(chunk->bytes + chunk->end, bytes, size);
    chunk->end += size;
    outbox->kept += size;
}

/* Return the number of bytes that the socket accepted. */
static size_t send_now(struct p9_outbox *outbox, struct iovec *iov, size_t n)
{
    struct msghdr message = { .msg_iov = iov, .msg_iovlen = n };
    ssize_t sent;

    do {
        sent = sendmsg(outbox->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent >= 0)
        return (size_t)sent;
    if (errno != EAGAIN && errno != EWOULDBLOCK) {
        outbox->broken = true;
        drop_all(outbox);
    }
    return 0;
}

static void flush_chunks(struct p9_outbox *outbox)
{
    while (outbox->first && !outbox->broken) {
        struct p9_outbox_chunk *chunk = outbox->first;
        struct iovec iov = { chunk->bytes + chunk->at, chunk->end - chunk->at };
        size_t sent = send_now(outbox, &iov, 1);

        if (outbox->broken)
            return;
        chunk->at += sent;
        outbox->kept -= sent;
        if (chunk->at < chunk->end)
            return;
        drop_first(outbox);
    }
}

/* Send the batch, then these bytes, or keep them; there are no chunks. */
static void send_or_keep(struct p9_outbox *outbox, const uint8_t *bytes,
                         size_t size)
{
    struct iovec iov[2] = { { outbox->batch, outbox->batched },
                            { (uint8_t *)bytes, size } };
    size_t sent = send_now(outbox, iov, size > 0 ? 2 : 1);
    size_t of_batch = MIN(sent, outbox->batched);

    if (outbox->broken)
        return;
    keep(outbox, outbox->batch + of_batch, outbox->batched - of_batch);
    outbox->batched = 0;
    keep(outbox, bytes + (sent - of_batch), size - (sent - of_batch));
}

void p9_outbox_add(struct p9_outbox *outbox, const uint8_t *bytes, size_t size,
                   bool hold)
{
    if (outbox->broken)
        return;
    if (outbox->first)
        keep(outbox, bytes, size);
    else if (hold && size <= P9_OUTBOX_BATCH - outbox->batched) {
        memcpy(outbox->batch + outbox->batched, bytes, size);
        outbox->batched += size;
    } else {
        send_or_keep(outbox, bytes, size);
    }
}

void p9_outbox_flush(struct p9_outbox *outbox)
{
    flush_chunks(outbox);
    if (outbox->broken || outbox->first || outbox->batched == 0)
        return;
    send_or_keep(outbox, outbox->batch, 0);
}
