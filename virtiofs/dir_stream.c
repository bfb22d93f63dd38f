/* SPDX-License-Identifier: Apache-2.0
 *
 * dir_stream - see dir_stream.h.
 *
 * getdents64(2) itself and not readdir(3): a client asks for a page of entries
 * at a time, goes on where it stopped, and now and then goes back; the buffer
 * here lets it go on without a system call and without reading twice.
 */
#include "virtiofs/dir_stream.h"

#include <dirent.h>
#include <errno.h>
#include <glib.h>
#include <stddef.h>
#include <unistd.h>

#define BUFFER_SIZE 32768

struct dir_stream {
    int fd;
    int64_t next; /* offset of the entry at pos */
    size_t pos, end;
    char buffer[BUFFER_SIZE] __attribute__((aligned(8)));
};

struct dir_stream *dir_stream_new(int fd)
{
    struct dir_stream *stream = g_new(struct dir_stream, 1);

    stream->fd = fd;
    stream->next = 0;
    stream->pos = stream->end = 0;
    return stream;
}

void dir_stream_free(struct dir_stream *stream)
{
    g_free(stream);
}

int dir_stream_seek(struct dir_stream *stream, int64_t offset)
{
    if (offset == stream->next && offset != 0)
        return 0;
    if (lseek(stream->fd, offset, SEEK_SET) < 0)
        return -errno;
    stream->next = offset;
    stream->pos = stream->end = 0;
    return 0;
}

int dir_stream_peek(struct dir_stream *stream,
                    const struct dir_entry **ret_entry)
{
    if (stream->pos == stream->end) {
        ssize_t n = getdents64(stream->fd, stream->buffer,
                               sizeof(stream->buffer));

        if (n < 0)
            return -errno;
        stream->pos = 0;
        stream->end = (size_t)n;
        if (n == 0)
            return 0;
    }
    *ret_entry = (const struct dir_entry *)(stream->buffer + stream->pos);
    return 1;
}

void dir_stream_advance(struct dir_stream *stream)
{
    const struct dir_entry *entry = (const struct dir_entry *)(stream->buffer +
                                                               stream->pos);

    stream->next = entry->off;
    stream->pos += entry->reclen;
}
