/* SPDX-License-Identifier: Apache-2.0
 *
 * bulk_transfer - one transfer of the bulk port, private to it.
 */
#ifndef AGENT_VM_BULK_TRANSFER_H
#define AGENT_VM_BULK_TRANSFER_H

#include "agent/vm/bulk_port.h"
#include "shim/bulk_wire.h"

/* What a transfer asks of its port. */
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
