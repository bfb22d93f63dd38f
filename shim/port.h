/* SPDX-License-Identifier: Apache-2.0
 *
 * port - line I/O on the control port, in fixed buffers.
 *
 * Flow control: outgoing messages are queued in one buffer. A sender that can
 * wait (a command's output stays in its pipe) checks port_room() first. Answers
 * to the host's messages use a reserve at the buffer's end, and while the
 * reserve is in use no further message is read. So nothing is dropped, a host
 * that does not read output can still cancel, and a host that sends without
 * reading blocks only itself.
 *
 * A host that reconnects (a virtio port reports its absence with POLLHUP and an
 * empty read) receives whole lines only: port_hang_up() drops torn lines in
 * both directions.
 */
#ifndef SHIM_PORT_H
#define SHIM_PORT_H

#include <stdbool.h>
#include <stddef.h>

#include "shim/wire_json.h"
#include "shim/wire.h"

#define PORT_OUT_SIZE (256 * 1024)

/* For answers: room for several, each shorter than PORT_MAX_ANSWER. */
#define PORT_RESERVE    (32 * 1024)
#define PORT_MAX_ANSWER (8 * 1024)

enum port_line {
    PORT_LINE_NONE,     /* no complete line */
    PORT_LINE_OK,       /* a line was returned */
    PORT_LINE_TOO_LONG, /* a line exceeded the limit: reported once per line */
};

struct port {
    int fd;
    bool is_device; /* a virtio port: its host may reconnect */

    char in[WIRE_MAX_LINE + 1];
    size_t in_used;    /* bytes in the buffer */
    size_t in_taken;   /* of these, already returned as lines */
    size_t in_scanned; /* of these, known to contain no newline */
    bool in_skipping;  /* within the rest of an overlong line */

    char out[PORT_OUT_SIZE];
    size_t out_start; /* out[out_start..out_end) is waiting to be written */
    size_t out_end;
    bool out_torn; /* a line is partly written */
};

/* Open the port by its name in /dev/virtio-ports or, without udev, by a lookup
 * in /sys. Return 0 or -errno; -ENOENT: not there yet, -EBUSY: open in another
 * process. */
int port_open(struct port *port, const char *path);

/* Use an open fd (taken) as the port. Return 0 or -errno. */
int port_adopt(struct port *port, int fd);

/* Return the events to poll for. */
short port_events(const struct port *port);

/* Read once. Return 0, -EPIPE if the host is not connected, or -errno. */
int port_read(struct port *port);

/* Write as much as the host accepts. Return 0 or -errno. */
int port_flush(struct port *port);

/* Return true if the output queue is empty. */
bool port_is_flushed(const struct port *port);

/* Get the next line without its newline. The caller may modify it; it is valid
 * until the next call. */
enum port_line port_next_line(struct port *port, char **ret_line,
                              size_t *ret_len);

/* Return true if there is room for an answer. */
bool port_can_answer(const struct port *port);

/* Return how many bytes can be queued without using the reserve. */
size_t port_room(const struct port *port);

/* Queue one message (taken; NULL if it could not be made). Return false if
 * nothing is queued: it did not fit. */
bool port_send(struct port *port, json_t *message);

/* The host has disconnected: drop the torn line in either direction. */
void port_hang_up(struct port *port);

#endif
