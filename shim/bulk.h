/* SPDX-License-Identifier: Apache-2.0
 *
 * bulk - the process that serves the bulk port (bulk_wire.h).
 *
 * The shim starts it when the first bytes arrive, so a guest without copies
 * pays one more fd in a poll(). The process multiplexes the transfers between
 * the port and the copiers (copier.h), one per transfer, and ends when the host
 * hangs up. It does not allocate.
 *
 * If it ends otherwise, e.g. by SIGKILL, both directions of the port can have a
 * torn frame. The shim keeps the port open, reports the end to the host, and
 * starts another process when the host asks for it ("bulk_start" in wire.h).
 */
#ifndef SHIM_BULK_H
#define SHIM_BULK_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct bulk {
    int port;     /* -1: none */
    pid_t pid;    /* 0: none runs */
    bool started; /* a process has read from the port */
    bool ended;   /* report this to the host */
};

/* Open the port: a path, or the number of an open fd. A missing port is no
 * error: an older host has none. */
void bulk_open(struct bulk *bulk, const char *port);

/* Fill in at most one poll entry. Return how many. */
size_t bulk_poll(const struct bulk *bulk, struct pollfd *fds);

/* Start the process if its entry has an event. */
void bulk_serve(struct bulk *bulk, const struct pollfd *fds, size_t count);

/* Start another process, after the end of the previous one. mark: where input
 * and output begin, WIRE_BULK_MARK bytes. Return 0 or -errno. */
int bulk_restart(struct bulk *bulk, const char *mark);

/* Note that a child has ended. Return whether it was the process. */
bool bulk_note_exit(struct bulk *bulk, pid_t pid);

/* The next host must know of an end that only this one was told of. */
void bulk_lose_host(struct bulk *bulk);

#endif
