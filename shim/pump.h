/* SPDX-License-Identifier: Apache-2.0
 *
 * pump - carries 9P between the kernel's client and a virtio-serial port.
 *
 * The kernel cannot mount over such a port itself: it has no read_iter. So the
 * client writes into a pipe, from which its requests are spliced to the port;
 * towards the client, messages are gathered whole before they are written to a
 * socket that it reads from. What comes from the port is bounded by PUMP_MSIZE,
 * whatever its size fields say.
 *
 * Nothing is ever made up to repair a stream: what is torn ends it.
 */
#ifndef SHIM_PUMP_H
#define SHIM_PUMP_H

#include <stdint.h>

/* The largest message, in either direction; more gains nothing. */
#define PUMP_MSIZE 524288

enum { PUMP_PIPE_SIZE = 1 << 20 };

/* Why it ended. */
enum pump_end {
    PUMP_UNMOUNTED, /* the client closed its ends */
    PUMP_HUNG_UP,   /* the port has no host */
    PUMP_GARBLED,   /* a message that cannot be */
    PUMP_ASKED,     /* SIGTERM, and nothing was under way */
    PUMP_FAILED,    /* errno says how */
};

/* Learn where messages begin: send a Tversion, and discard what comes until
 * its answer. deadline_ms is of CLOCK_MONOTONIC. 0; -ETIMEDOUT, or -EPIPE if
 * the port has no host, or -errno. */
int pump_greet(int port, int64_t deadline_ms);

/* Carry messages until there is an end. The fds are borrowed; the port and the
 * socket do not block. Once in a process: its buffer is static. */
enum pump_end pump_run(int port, int pipe, int sock);

/* From now on SIGTERM makes pump_run() end when it next has nothing to do. */
void pump_catch_term(void);

#endif
