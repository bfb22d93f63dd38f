/* SPDX-License-Identifier: Apache-2.0
 *
 * port - see port.h.
 */
#include "shim/port.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/port_node.h"

int port_open(struct port *port, const char *path)
{
    int fd;

    if (strcmp(path, WIRE_PORT_PATH) == 0) {
        fd = port_node_open(WIRE_PORT_NAME);
    } else {
        fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
            fd = -errno;
    }
    return fd < 0 ? fd : port_adopt(port, fd);
}

int port_adopt(struct port *port, int fd)
{
    struct stat st;
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fstat(fd, &st) < 0)
        return -errno;
    port->fd = fd;
    port->is_device = S_ISCHR(st.st_mode);
    return 0;
}

short port_events(const struct port *port)
{
    short events = 0;

    if (port_can_answer(port))
        events |= POLLIN;
    if (port->out_start < port->out_end)
        events |= POLLOUT;
    return events;
}

/* Move unread data to the start of the buffer. */
static void compact_in(struct port *port)
{
    memmove(port->in, port->in + port->in_taken,
            port->in_used - port->in_taken);
    port->in_used -= port->in_taken;
    port->in_scanned -= port->in_taken;
    port->in_taken = 0;
}

int port_read(struct port *port)
{
    ssize_t got;

    compact_in(port);
    if (port->in_used == sizeof(port->in))
        return 0;
    got = read(port->fd, port->in + port->in_used,
               sizeof(port->in) - port->in_used);
    if (got == 0)
        return -EPIPE;
    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    port->in_used += (size_t)got;
    return 0;
}

int port_flush(struct port *port)
{
    while (port->out_start < port->out_end) {
        ssize_t put = write(port->fd, port->out + port->out_start,
                            port->out_end - port->out_start);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return errno == EAGAIN ? 0 : -errno;
        port->out_start += (size_t)put;
        port->out_torn = port->out[port->out_start - 1] != '\n';
    }
    port->out_start = port->out_end = 0;
    return 0;
}

bool port_is_flushed(const struct port *port)
{
    return port->out_start == port->out_end;
}

enum port_line port_next_line(struct port *port, char **ret_line,
                              size_t *ret_len)
{
    for (;;) {
        char *from = port->in + port->in_taken;
        char *newline = memchr(port->in + port->in_scanned, '\n',
                               port->in_used - port->in_scanned);

        if (!newline) {
            port->in_scanned = port->in_used;
            if (port->in_used - port->in_taken <= WIRE_MAX_LINE)
                return PORT_LINE_NONE;
            port->in_taken = port->in_used;
            if (port->in_skipping)
                return PORT_LINE_NONE;
            port->in_skipping = true;
            return PORT_LINE_TOO_LONG;
        }
        port->in_taken = port->in_scanned = (size_t)(newline + 1 - port->in);
        if (!port->in_skipping) {
            *ret_line = from;
            *ret_len = (size_t)(newline - from);
            return PORT_LINE_OK;
        }
        port->in_skipping = false;
    }
}

bool port_can_answer(const struct port *port)
{
    return PORT_OUT_SIZE - (port->out_end - port->out_start) >= PORT_MAX_ANSWER;
}

size_t port_room(const struct port *port)
{
    size_t room = PORT_OUT_SIZE - (port->out_end - port->out_start);

    return room > PORT_RESERVE ? room - PORT_RESERVE : 0;
}

bool port_send(struct port *port, json_t *message)
{
    size_t room, len;

    memmove(port->out, port->out + port->out_start,
            port->out_end - port->out_start);
    port->out_end -= port->out_start;
    port->out_start = 0;
    room = PORT_OUT_SIZE - port->out_end;
    len = json_dumpb(message, port->out + port->out_end, room, JSON_COMPACT);
    json_decref(message);
    if (len == 0 || len >= room)
        return false;
    port->out_end += len;
    port->out[port->out_end++] = '\n';
    return true;
}

void port_hang_up(struct port *port)
{
    port->in_used = port->in_taken = port->in_scanned = 0;
    port->in_skipping = false;
    if (port->out_torn) {
        char *newline = memchr(port->out + port->out_start, '\n',
                               port->out_end - port->out_start);

        /* Only whole lines are queued, so the newline of a torn one is here. */
        port->out_start = (size_t)(newline + 1 - port->out);
        port->out_torn = false;
    }
}
