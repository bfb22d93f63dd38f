/* SPDX-License-Identifier: Apache-2.0
 *
 * port - lines in and out of the control port, in fixed buffers.
 *
 * Flow control. What is queued to go out lies in one buffer. Whoever has a
 * choice (a command's output stays in its pipe) asks port_room() first; the
 * answers to the host's messages use a reserve at the buffer's end, and while
 * the reserve is in use no further message is read. So nothing is dropped, a
 * host that does not read its output can still cancel, and a host that sends
 * without ever reading only stops itself.
 *
 * A host that goes away and comes back (a virtio port says so by POLLHUP and
 * by reading nothing) finds whole lines only: port_hang_up() drops what is
 * torn on either side.
 */
#ifndef SHIM_PORT_H
#define SHIM_PORT_H

#include <stdbool.h>
#include <stddef.h>

#include "shim/json_writer.h"
#include "shim/wire.h"

#define PORT_OUT_SIZE (256 * 1024)

/* For answers: a handful, each shorter than PORT_MAX_ANSWER. */
#define PORT_RESERVE    (32 * 1024)
#define PORT_MAX_ANSWER (8 * 1024)

enum port_line {
    PORT_LINE_NONE,     /* none is complete */
    PORT_LINE_OK,       /* one is given */
    PORT_LINE_TOO_LONG, /* one was longer than the limit: told once for it */
};

struct port {
    int fd;
    bool is_device; /* a virtio port: its host may come back */

    char in[WIRE_MAX_LINE + 1];
    size_t in_used;    /* bytes in the buffer */
    size_t in_taken;   /* of these, given out as lines */
    size_t in_scanned; /* of these, known to hold no newline */
    bool in_skipping;  /* in the rest of a line that is too long */

    char out[PORT_OUT_SIZE];
    size_t out_start; /* out[out_start..out_end) waits to be written */
    size_t out_end;
    bool out_torn; /* a line is partly written */
};

/* Open the port: by the name in /dev/virtio-ports, or, where no udev makes
 * that name, by looking it up in /sys. -ENOENT: not there yet, -EBUSY:
 * another process has it open. 0 or -errno. */
int port_open(struct port *port, const char *path);

/* Use an open fd (taken) as the port. 0 or -errno. */
int port_adopt(struct port *port, int fd);

/* The events to poll for. */
short port_events(const struct port *port);

/* Read once. 0, or -EPIPE if the host is not there, or -errno. */
int port_read(struct port *port);

/* Write what the host takes. 0 or -errno. */
int port_flush(struct port *port);

/* True if nothing waits to be written. */
bool port_is_flushed(const struct port *port);

/* The next line, without its newline, to be changed as you like; valid until
 * the next call. */
enum port_line port_next_line(struct port *port, char **ret_line,
                              size_t *ret_len);

/* True if there is room for an answer. */
bool port_can_answer(const struct port *port);

/* Bytes that can be queued without touching the reserve. */
size_t port_room(const struct port *port);

/* Queue one message: write it between the two calls. False if it did not fit;
 * then nothing is queued. */
void port_begin(struct port *port, struct json_writer *writer);
bool port_end(struct port *port, struct json_writer *writer);

/* The host went away: drop the torn line in either direction. */
void port_hang_up(struct port *port);

#endif
