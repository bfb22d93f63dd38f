/* SPDX-License-Identifier: Apache-2.0
 *
 * bulk_transfer - one transfer of the bulk port.
 */
#ifndef AGENT_MACHINE_BULK_TRANSFER_H
#define AGENT_MACHINE_BULK_TRANSFER_H

#include <glib.h>
#include <stdbool.h>

#include "shim/bulk_wire.h"

struct bulk_transfer;

struct bulk_request {
    bool in;          /* into the guest */
    const char *path; /* absolute, in the guest; bytes */
    /* As in bulk_wire.h. */
    bool follow, archive, keep_owner;
};

struct bulk_totals {
    guint64 bytes;            /* of the stream */
    guint64 entries, skipped; /* as counted by the guest */
};

struct bulk_callbacks {
    /* The guest accepted the path. */
    void (*opened)(struct bulk_transfer *transfer, void *opaque);
    /* The transfer is over and freed after this. All bytes were written to the
     * fd; the fd, if one was attached, is closed after this. error: NULL on
     * success. Its errors: ERROR_IO_ERROR, ERROR_NOT_FOUND, ERROR_TIMEOUT,
     * ERROR_CANCELLED. */
    void (*ended)(struct bulk_transfer *transfer,
                  const struct bulk_totals *totals, const GError *error,
                  void *opaque);
};

/* Move the bytes from or to this fd (taken): a pipe or a stream socket. It
 * becomes non-blocking. Once per transfer, after "opened". */
void bulk_transfer_attach(struct bulk_transfer *transfer, int fd);

/* Cancel: "ended" follows with ERROR_CANCELLED and this text (borrowed for the
 * call), unless the transfer ends by itself first. */
void bulk_transfer_cancel(struct bulk_transfer *transfer, const char *text);

/* ---- for bulk_port.c ----------------------------------------------------- */

/* Callbacks of a transfer to its port. */
struct bulk_owner {
    /* bulk_transfer_next() may have a frame now. */
    void (*wake)(void *opaque);
    /* Forget the transfer: it is about to be freed. */
    void (*done)(struct bulk_transfer *transfer, void *opaque);
    void *opaque;
};

struct bulk_transfer *bulk_transfer_new(guint32 id,
                                        const struct bulk_request *request,
                                        const struct bulk_owner *owner,
                                        const struct bulk_callbacks *callbacks,
                                        void *opaque);

guint32 bulk_transfer_id(const struct bulk_transfer *transfer);

/* Write the next frame to out (BULK_HEADER + BULK_MAX_PAYLOAD bytes). Return
 * its length, or 0 if there is none now. */
size_t bulk_transfer_next(struct bulk_transfer *transfer, unsigned char *out);

/* Take a frame of the guest. May free the transfer. */
void bulk_transfer_take(struct bulk_transfer *transfer, enum bulk_type type,
                        const unsigned char *payload, size_t len);

/* The port is lost and has forgotten the transfer: end and free it. */
void bulk_transfer_end(struct bulk_transfer *transfer, const GError *error);

#endif
