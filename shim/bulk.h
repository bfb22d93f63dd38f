/* SPDX-License-Identifier: Apache-2.0
 *
 * bulk - the process that serves the bulk port (bulk_wire.h).
 *
 * The shim starts it when the first bytes arrive, so a guest without copies
 * pays one more fd in a poll(). The process multiplexes the transfers between
 * the port and the copiers (copier.h), one per transfer, and ends when the host
 * hangs up. It does not allocate.
 */
#ifndef SHIM_BULK_H
#define SHIM_BULK_H

#include <poll.h>
#include <stddef.h>

struct bulk {
    int port; /* -1: none, or the process has it */
};

/* Open the port: a path, or the number of an open fd. A missing port is no
 * error: an older host has none. */
void bulk_open(struct bulk *bulk, const char *port);

/* Fill in at most one poll entry. Return how many. */
size_t bulk_poll(const struct bulk *bulk, struct pollfd *fds);

/* Start the process if its entry has an event. */
void bulk_serve(struct bulk *bulk, const struct pollfd *fds, size_t count);

#endif
