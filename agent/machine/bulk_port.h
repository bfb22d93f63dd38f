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
 * port is not used again. If the guest's process for the port ends, its
 * transfers end with an error, and the next one starts another process.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_MACHINE_BULK_PORT_H
#define AGENT_MACHINE_BULK_PORT_H

#include <glib.h>

#include "agent/machine/bulk_transfer.h"

struct bulk_port;

/* Ask the guest to serve the port again ("bulk_start" in shim/wire.h). */
typedef void (*bulk_port_restart)(const char *mark, void *opaque);

/* Take a connected socket. */
struct bulk_port *bulk_port_new(int fd, bulk_port_restart restart,
                                void *opaque);

/* The guest's process for the port has ended: end all transfers. */
void bulk_port_interrupt(struct bulk_port *port);

/* Free the port; its transfers end with an error. NULL is allowed. */
void bulk_port_free(struct bulk_port *port);

/* Start a transfer; no callback is called before this returns. Returns NULL and
 * error if the port is lost (ERROR_IO_ERROR), too many transfers run
 * (ERROR_BUSY), or the path is unfit (ERROR_INVALID_FIELD). */
struct bulk_transfer *bulk_port_start(struct bulk_port *port,
                                      const struct bulk_request *request,
                                      const struct bulk_callbacks *callbacks,
                                      void *opaque, GError **error);

#endif
