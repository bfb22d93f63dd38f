/* SPDX-License-Identifier: Apache-2.0
 *
 * stream - see stream.h.
 */
#include "shim/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "shim/utf8.h"

int stream_open(struct stream *stream, const char *name)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    /* Only our end: the command must find an ordinary, blocking pipe. */
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    stream->fd = ends[0];
    stream->name = name;
    stream->carry = 0;
    return ends[1];
}

static void send_bytes(const struct stream *stream, size_t length, int64_t id,
                       struct port *port)
{
    struct json_writer *writer;

    if (length == 0)
        return;
    writer = port_begin(port, WIRE_OUTPUT);
    json_writer_integer(writer, "id", id);
    json_writer_string(writer, "stream", stream->name);
    if (utf8_valid(stream->data, length) &&
        !memchr(stream->data, '\0', length)) {
        json_writer_text(writer, "data", stream->data, length);
    } else {
        json_writer_string(writer, "encoding", WIRE_ENCODING_BASE64);
        json_writer_base64(writer, "data", stream->data, length);
    }
    port_send(port);
}

size_t stream_pump(struct stream *stream, size_t limit, int64_t id,
                   struct port *port)
{
    size_t room = sizeof(stream->data) - stream->carry, total, tail;
    ssize_t got;

    if (stream->fd < 0)
        return 0;
    got = read(stream->fd, stream->data + stream->carry,
               limit < room ? limit : room);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (got <= 0) {
        close(stream->fd);
        stream->fd = -1;
        return 0;
    }
    total = stream->carry + (size_t)got;
    tail = utf8_incomplete_tail(stream->data, total);
    send_bytes(stream, total - tail, id, port);
    memmove(stream->data, stream->data + total - tail, tail);
    stream->carry = tail;
    return (size_t)got;
}

void stream_flush(struct stream *stream, int64_t id, struct port *port)
{
    send_bytes(stream, stream->carry, id, port);
    stream->carry = 0;
}

size_t stream_ready(const struct stream *stream)
{
    int ready = 0;

    if (stream->fd < 0 || ioctl(stream->fd, FIONREAD, &ready) < 0 || ready < 0)
        return 0;
    return (size_t)ready;
}

int stream_release(struct stream *stream)
{
    int fd = stream->fd;

    stream->fd = -1;
    return fd;
}
