/* SPDX-License-Identifier: Apache-2.0
 *
 * bulk_transfer - one transfer of the bulk process.
 */
#ifndef SHIM_BULK_TRANSFER_H
#define SHIM_BULK_TRANSFER_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "copy/copy_error.h"
#include "shim/bulk_wire.h"

struct bulk_transfer {
    uint32_t id; /* 0: the slot is free */
    bool in;
    pid_t pid;
    int data, news; /* -1: closed */

    bool opened;          /* report it */
    bool input_ended;     /* in: the host sent BULK_END */
    enum bulk_type ended; /* BULK_END or BULK_ERROR: report it; 0: not yet */
    unsigned char end[COPY_ERROR_MAX];
    size_t end_len;

    size_t credit;      /* out: may be sent; in: consumed and not reported */
    size_t start, used; /* in: the part of ring that waits for the copier */
    char ring[BULK_WINDOW];
};

/* Start a copier for a BULK_OPEN frame; on failure "ended" says why. */
void bulk_transfer_open(struct bulk_transfer *transfer, uint32_t id,
                        const unsigned char *payload, size_t len);

/* Take a frame of a running transfer. */
void bulk_transfer_take(struct bulk_transfer *transfer, enum bulk_type type,
                        const unsigned char *payload, size_t len);

/* Fill in at most two poll entries. Return how many. */
size_t bulk_transfer_poll(const struct bulk_transfer *transfer,
                          struct pollfd *fds);

/* Exchange data and news with the copier. */
void bulk_transfer_advance(struct bulk_transfer *transfer);

/* Write the next frame to out (BULK_HEADER + BULK_MAX_PAYLOAD bytes). Return
 * its length, or 0 if there is none. After the last frame the slot is free. */
size_t bulk_transfer_next(struct bulk_transfer *transfer, unsigned char *out);

#endif
