/* SPDX-License-Identifier: Apache-2.0
 *
 * port - lines to and from the host, without blocking.
 *
 * The port is a virtio-serial device, or in tests any socket. Both directions
 * have a fixed buffer. Output is written only when there is room: a caller
 * asks port_room() first, and leaves its source alone (pipes unread, input
 * lines unread) while there is none; so nothing is lost and nothing grows.
 *
 * A device's host may hang up and come back. Meanwhile read(2) returns 0 and
 * poll(2) is always ready, so the caller must wait by time (port_is_hung_up).
 * Half a line, of either direction, is dropped; whole lines stay queued.
 */
#ifndef SHIM_PORT_H
#define SHIM_PORT_H

#include <stdbool.h>
#include <stddef.h>

#include "shim/json_writer.h"
#include "shim/wire.h"

enum {
    PORT_OUTPUT_SIZE = 1 << 20,
    /* More than any message but output needs. */
    PORT_SMALL_MESSAGE = 4096,
};

enum port_line {
    PORT_LINE_NONE,     /* no whole line is there */
    PORT_LINE_OK,       /* a line; its newline has become a NUL */
    PORT_LINE_TOO_LONG, /* the rest will be thrown away; said once */
};

struct port {
    int fd;
    bool is_device; /* may hang up and come back */
    bool hung_up;

    bool discarding;            /* until the end of a line that is too long */
    size_t in_start, in_length; /* what is unread in input */
    size_t out_start, out_end;  /* what is unwritten in output */
    bool out_mid_line;          /* the last byte written was no newline */
    struct json_writer writer;
    char input[WIRE_LINE_MAX + 1];
    char output[PORT_OUTPUT_SIZE];
};

/* Open a port: the number of an inherited fd, or a path, whose appearance is
 * waited for. For WIRE_PORT_DEVICE /sys is searched too, because nothing but
 * udev makes that link. 0 or -errno. */
int port_open(struct port *port, const char *fd_or_path);

/* Read what is there. 0, or -errno when the port is finally gone (-EPIPE at
 * end of file). */
int port_read(struct port *port);

/* The next line (borrowed until the next call). */
enum port_line port_next_line(struct port *port, char **ret_line,
                              size_t *ret_length);

/* Free bytes of the output buffer. */
size_t port_room(const struct port *port);

/* Begin a message; port_send() ends and queues it. The caller has made sure
 * of the room; a message that does not fit is dropped whole. */
struct json_writer *port_begin(struct port *port, const char *type);
void port_send(struct port *port);

/* Write what is queued and taken. 0 or -errno as port_read(). */
int port_flush(struct port *port);

/* True if port_next_line() would find something. */
bool port_has_line(const struct port *port);

/* poll(2) said POLLHUP: a device's host has hung up. */
void port_hang_up(struct port *port);
bool port_is_hung_up(const struct port *port);
bool port_has_output(const struct port *port);

#endif
