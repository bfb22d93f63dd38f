/* SPDX-License-Identifier: Apache-2.0
 *
 * outbox - the send queue of a connection.
 *
 * Sending never blocks. Bytes that the socket does not accept are kept and sent
 * later; the producer of replies must bound their number. Short replies may be
 * held back, to be sent together.
 *
 * Threads: one at a time; the owner locks.
 */
#ifndef P9_WIRE_OUTBOX_H
#define P9_WIRE_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { P9_OUTBOX_BATCH = 16384 };

struct p9_outbox_chunk;

struct p9_outbox {
    int fd;      /* borrowed: a stream socket */
    bool broken; /* the peer has gone; all bytes are dropped */
    uint8_t *batch;
    size_t batched;
    struct p9_outbox_chunk *first, *last;
    size_t kept; /* bytes in chunks */
};

void p9_outbox_init(struct p9_outbox *outbox, int fd);
void p9_outbox_clear(struct p9_outbox *outbox);

/* Send these bytes (copied if necessary) after all earlier ones. hold: they may
 * wait for p9_outbox_flush(). */
void p9_outbox_add(struct p9_outbox *outbox, const uint8_t *bytes, size_t size,
                   bool hold);

/* Send as much as the socket accepts. */
void p9_outbox_flush(struct p9_outbox *outbox);

#endif
