/* SPDX-License-Identifier: Apache-2.0
 *
 * stream - see stream.h.
 */
#include "net/stream.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "net/frame.h"

enum {
    LENGTH = 4,
    IN_SIZE = 64 << 10,
    OUT_SIZE = 512 << 10,
    OUT_FULL = 128 << 10,
    QEMU_MAX = 4096 + 65536, /* the longest frame that QEMU accepts */
};

struct stream {
    int fd;
    bool is_tap;
    stream_frame on_frame;
    void *opaque;
    size_t skip; /* remaining bytes of a frame that is too long */
    size_t in_length;
    size_t out_start, out_end;
    uint8_t in[IN_SIZE];
    uint8_t out[OUT_SIZE];
};

struct stream *stream_new(int fd, stream_frame on_frame, void *opaque)
{
    struct stream *stream = g_new0(struct stream, 1);
    struct stat st;

    stream->fd = fd;
    stream->is_tap = fstat(fd, &st) == 0 && S_ISCHR(st.st_mode);
    stream->on_frame = on_frame;
    stream->opaque = opaque;
    return stream;
}

void stream_free(struct stream *stream)
{
    if (!stream)
        return;
    fd_close(&stream->fd);
    g_free(stream);
}

int stream_fd(const struct stream *stream)
{
    return stream->fd;
}

/* Deliver complete frames, and keep the rest. */
static int take_frames(struct stream *stream)
{
    size_t at = 0;

    for (;;) {
        size_t left = stream->in_length - at, length;

        if (stream->skip > 0) {
            size_t n = MIN(stream->skip, left);

            stream->skip -= n;
            at += n;
            left -= n;
        }
        if (left < LENGTH)
            break;
        length = frame_get32(stream->in + at);
        if (length > QEMU_MAX)
            return -EPROTO;
        if (length > FRAME_LINK_MAX) {
            stream->skip = length;
            at += LENGTH;
            continue;
        }
        if (left - LENGTH < length)
            break;
        stream->on_frame(stream->in + at + LENGTH, length, stream->opaque);
        at += LENGTH + length;
    }
    stream->in_length -= at;
    memmove(stream->in, stream->in + at, stream->in_length);
    return 0;
}

/* Deliver the frames that wait, up to a limit: the caller has other work. A
 * frame that is too long is skipped. */
static int read_tap(struct stream *stream)
{
    enum { FRAMES = 64 };

    for (int i = 0; i < FRAMES; i++) {
        ssize_t n = read(stream->fd, stream->in, IN_SIZE);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (n <= 0) /* EBADFD: its network namespace has ended */
            return n == 0 || errno == EBADFD ? -EPIPE : -errno;
        if (n <= FRAME_LINK_MAX)
            stream->on_frame(stream->in, (size_t)n, stream->opaque);
    }
    return 0;
}

int stream_read(struct stream *stream)
{
    ssize_t n;

    if (stream->is_tap)
        return read_tap(stream);
    n = recv(stream->fd, stream->in + stream->in_length,
             IN_SIZE - stream->in_length, 0);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    if (n == 0)
        return -EPIPE;
    stream->in_length += (size_t)n;
    return take_frames(stream);
}

bool stream_send(struct stream *stream, const uint8_t *data, size_t length)
{
    uint8_t *at;

    if (stream->out_start > 0 && OUT_SIZE - stream->out_end < LENGTH + length) {
        stream->out_end -= stream->out_start;
        memmove(stream->out, stream->out + stream->out_start, stream->out_end);
        stream->out_start = 0;
    }
    if (OUT_SIZE - stream->out_end < LENGTH + length)
        return false;
    at = stream->out + stream->out_end;
    frame_put16(at, (unsigned)(length >> 16));
    frame_put16(at + 2, (unsigned)length);
    memcpy(at + LENGTH, data, length);
    stream->out_end += LENGTH + length;
    return true;
}

/* Write queued frames. The device drops what the guest does not take in time,
 * as a network does. */
static int flush_tap(struct stream *stream)
{
    while (stream_has_output(stream)) {
        uint8_t *at = stream->out + stream->out_start;
        size_t length = frame_get32(at);
        ssize_t n = write(stream->fd, at + LENGTH, length);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n < 0 && errno == EBADFD)
            return -EPIPE;
        stream->out_start += LENGTH + length;
    }
    stream->out_start = stream->out_end = 0;
    return 0;
}

int stream_flush(struct stream *stream)
{
    if (stream->is_tap)
        return flush_tap(stream);
    while (stream_has_output(stream)) {
        ssize_t n = send(stream->fd, stream->out + stream->out_start,
                         stream->out_end - stream->out_start, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -errno;
        stream->out_start += (size_t)n;
    }
    stream->out_start = stream->out_end = 0;
    return 0;
}

bool stream_has_output(const struct stream *stream)
{
    return stream->out_end > stream->out_start;
}

bool stream_is_full(const struct stream *stream)
{
    return stream->out_end - stream->out_start > OUT_FULL;
}
