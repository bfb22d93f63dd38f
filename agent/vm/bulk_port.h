/* SPDX-License-Identifier: Apache-2.0
 *
 * bulk_port - the host end of the port that carries copies (shim/bulk_wire.h).
 *
 * A transfer moves bytes between the guest and an fd, in frames with credits: a
 * client that does not read, or sends nothing, delays neither another transfer
 * nor the control port. Buffers are bounded by the window of each transfer.
 *
 * The guest is treated as hostile. Frames that do not fit a transfer's state
 * are ignored; a stream of bytes that is not frames ends all transfers, and the
 * port is not used again.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_VM_BULK_PORT_H
#define AGENT_VM_BULK_PORT_H

#include <glib.h>
#include <stdbool.h>

struct bulk_port;
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

/* Take a connected socket. */
struct bulk_port *bulk_port_new(int fd);

/* Free the port; its transfers end with an error. NULL is allowed. */
void bulk_port_free(struct bulk_port *port);

/* Start a transfer; no callback is called before this returns. Returns NULL and
 * error if the port is lost (ERROR_IO_ERROR), too many transfers run
 * (ERROR_BUSY), or the path is unfit (ERROR_INVALID_FIELD). */
struct bulk_transfer *bulk_port_start(struct bulk_port *port,
                                      const struct bulk_request *request,
                                      const struct bulk_callbacks *callbacks,
                                      void *opaque, GError **error);

/* Move the bytes from or to this fd (taken): a pipe or a stream socket. It
 * becomes non-blocking. Once per transfer, after "opened". */
void bulk_transfer_attach(struct bulk_transfer *transfer, int fd);

/* Cancel: "ended" follows with ERROR_CANCELLED and this text (borrowed for the
 * call), unless the transfer ends by itself first. */
void bulk_transfer_cancel(struct bulk_transfer *transfer, const char *text);

#endif
