/* SPDX-License-Identifier: Apache-2.0
 *
 * outbox - what a connection has to send.
 *
 * Sending never waits. What the socket does not take is kept and sent when it
 * can be; how much that is, whoever makes replies has to look at. Short
 * replies may be held back, to go out together.
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
    bool broken; /* nobody is there; everything is dropped */
    uint8_t *batch;
    size_t batched;
    struct p9_outbox_chunk *first, *last;
    size_t kept; /* bytes in chunks */
};

void p9_outbox_init(struct p9_outbox *outbox, int fd);
void p9_outbox_clear(struct p9_outbox *outbox);

/* Send these bytes (copied if need be) after all that came before. hold: they
 * may wait for p9_outbox_flush(). */
void p9_outbox_add(struct p9_outbox *outbox, const uint8_t *bytes, size_t size,
                   bool hold);

/* Send what can be sent. */
void p9_outbox_flush(struct p9_outbox *outbox);

#endif
