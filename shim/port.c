/* SPDX-License-Identifier: Apache-2.0
 *
 * port - see port.h.
 */
#include "shim/port.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shim/dir_scan.h"

#define PORTS_IN_SYS "/sys/class/virtio-ports"

static const struct timespec APPEARANCE_POLL = { .tv_nsec = 10 * 1000 * 1000 };

/* Of each port of the guest, the kernel has its name= here. */
static bool open_if_control(const char *device, void *opaque)
{
    int *ret_fd = opaque;
    char path[300], name[64];

    snprintf(path, sizeof(path), PORTS_IN_SYS "/%s/name", device);
    if (dir_scan_read_file(path, name, sizeof(name)) < 0 ||
        strcmp(name, WIRE_PORT_NAME "\n") != 0)
        return true;
    snprintf(path, sizeof(path), "/dev/%s", device);
    *ret_fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    return *ret_fd < 0;
}

static int open_path(const char *path)
{
    int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0 && errno == ENOENT && strcmp(path, WIRE_PORT_DEVICE) == 0) {
        dir_scan(PORTS_IN_SYS, open_if_control, &fd);
        if (fd < 0)
            errno = ENOENT;
    }
    return fd;
}

/* The device appears when its driver has found it, and is busy for a moment
 * after another process has closed it. */
static int wait_for_path(const char *path)
{
    int fd;

    while ((fd = open_path(path)) < 0) {
        if (errno != ENOENT && errno != EBUSY && errno != ENXIO &&
            errno != EINTR)
            return -errno;
        nanosleep(&APPEARANCE_POLL, NULL);
    }
    if (fchmod(fd, 0600) < 0) {
        int error = -errno;

        close(fd);
        return error;
    }
    return fd;
}

static int adopt_fd(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return -errno;
    return fd;
}

int port_open(struct port *port, const char *fd_or_path)
{
    char *end;
    long number = strtol(fd_or_path, &end, 10);
    struct stat st;
    int fd;

    if (*fd_or_path && !*end && number >= 0 && number <= 65535)
        fd = adopt_fd((int)number);
    else
        fd = wait_for_path(fd_or_path);
    if (fd < 0)
        return fd;
    port->fd = fd;
    port->is_device = fstat(fd, &st) == 0 && S_ISCHR(st.st_mode);
    return 0;
}

/* The other half of a line cut by the hang-up would spoil the next host's
 * first line. */
void port_hang_up(struct port *port)
{
    if (port->hung_up || !port->is_device)
        return;
    port->hung_up = true;
    port->in_start = port->in_length = 0;
    port->discarding = false;
    if (port->out_mid_line) {
        char *rest = port->output + port->out_start;
        char *newline = memchr(rest, '\n', port->out_end - port->out_start);

        port->out_start += newline ? (size_t)(newline + 1 - rest) : 0;
        port->out_mid_line = false;
    }
}

int port_read(struct port *port)
{
    for (;;) {
        size_t used = port->in_start + port->in_length;
        size_t room = sizeof(port->input) - used;
        ssize_t got;

        if (room == 0)
            return 0;
        got = read(port->fd, port->input + used, room);
        if (got == 0 && port->is_device) {
            port_hang_up(port);
            return 0;
        }
        if (got == 0)
            return -EPIPE;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno != EAGAIN)
            return -errno;
        port->hung_up = false;
        if (got < 0)
            return 0;
        port->in_length += (size_t)got;
    }
}

static void drop_input(struct port *port, size_t length)
{
    port->in_start += length;
    port->in_length -= length;
    if (port->in_length == 0)
        port->in_start = 0;
}

/* Make room behind an unfinished line; true if it fills the whole buffer. */
static bool is_too_long(struct port *port)
{
    if (port->in_start > 0) {
        memmove(port->input, port->input + port->in_start, port->in_length);
        port->in_start = 0;
    }
    return port->in_length == sizeof(port->input);
}

enum port_line port_next_line(struct port *port, char **ret_line,
                              size_t *ret_length)
{
    while (port->in_length > 0) {
        char *line = port->input + port->in_start;
        char *newline = memchr(line, '\n', port->in_length);
        size_t length = newline ? (size_t)(newline - line) : port->in_length;

        if (port->discarding) {
            drop_input(port, newline ? length + 1 : length);
            port->discarding = newline == NULL;
            continue;
        }
        if (newline) {
            *newline = '\0';
            drop_input(port, length + 1);
            *ret_line = line;
            *ret_length = length;
            return PORT_LINE_OK;
        }
        if (!is_too_long(port))
            return PORT_LINE_NONE;
        port->discarding = true;
        port->in_length = 0;
        return PORT_LINE_TOO_LONG;
    }
    return PORT_LINE_NONE;
}

size_t port_room(const struct port *port)
{
    return sizeof(port->output) - (port->out_end - port->out_start);
}

struct json_writer *port_begin(struct port *port, const char *type)
{
    if (port->out_start > 0) {
        memmove(port->output, port->output + port->out_start,
                port->out_end - port->out_start);
        port->out_end -= port->out_start;
        port->out_start = 0;
    }
    json_writer_begin(&port->writer, port->output + port->out_end,
                      sizeof(port->output) - port->out_end);
    json_writer_string(&port->writer, "type", type);
    return &port->writer;
}

void port_send(struct port *port)
{
    port->out_end += json_writer_end(&port->writer);
}

int port_flush(struct port *port)
{
    while (port->out_start < port->out_end) {
        ssize_t put = write(port->fd, port->output + port->out_start,
                            port->out_end - port->out_start);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return errno == EAGAIN ? 0 : -errno;
        port->out_start += (size_t)put;
        port->out_mid_line = port->output[port->out_start - 1] != '\n';
    }
    return 0;
}

bool port_has_line(const struct port *port)
{
    return port->in_length > 0 &&
           memchr(port->input + port->in_start, '\n', port->in_length);
}

bool port_is_hung_up(const struct port *port)
{
    return port->hung_up;
}

bool port_has_output(const struct port *port)
{
    return port->out_start < port->out_end;
}
