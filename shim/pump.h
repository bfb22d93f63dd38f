/* SPDX-License-Identifier: Apache-2.0
 *
 * pump - carry 9P between the kernel's client and a virtio-serial port.
 *
 * The kernel cannot mount over such a port directly, because the port has no
 * read_iter. So the client writes to a pipe, from which requests are spliced to
 * the port. In the other direction, complete messages are assembled before they
 * are written to a socket from which the client reads. The port's input is
 * limited to PUMP_MSIZE, regardless of its size fields.
 *
 * A damaged stream is never repaired with invented data: it ends.
 */
#ifndef SHIM_PUMP_H
#define SHIM_PUMP_H

#include <stdint.h>

/* Maximum message size in either direction; a larger one is not faster. */
#define PUMP_MSIZE 524288

enum { PUMP_PIPE_SIZE = 1 << 20 };

/* The reason for the end. */
enum pump_end {
    PUMP_UNMOUNTED, /* the client has closed its ends */
    PUMP_HUNG_UP,   /* the port has no host */
    PUMP_GARBLED,   /* an invalid message */
    PUMP_ASKED,     /* SIGTERM, and no message in progress */
    PUMP_FAILED,    /* errno has the reason */
};

/* Find the first message boundary: send a Tversion, and discard all input up to
 * its answer. deadline_ms is CLOCK_MONOTONIC. Return 0, -ETIMEDOUT, -EPIPE if
 * the port has no host, or -errno. */
int pump_greet(int port, int64_t deadline_ms);

/* Carry messages until the end. The fds are borrowed; port and socket are
 * non-blocking. Only once per process: the buffer is static. */
enum pump_end pump_run(int port, int pipe, int sock);

/* From now on SIGTERM makes pump_run() end when it is next idle. */
void pump_catch_term(void);

#endif
