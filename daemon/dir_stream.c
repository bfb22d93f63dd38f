/* SPDX-License-Identifier: Apache-2.0
 *
 * dir_stream - see dir_stream.h.
 *
 * Uses getdents64(2) instead of readdir(3): a client reads a page of entries at
 * a time, continues where it stopped, and occasionally seeks back; this buffer
 * lets it continue without a system call and without reading entries twice.
 */
#include "daemon/dir_stream.h"

#include <dirent.h>
#include <errno.h>
#include <glib.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "common/log_name.h"

#define BUFFER_SIZE 32768

struct dir_stream {
    int fd;
    int64_t next; /* offset of the entry at pos */
    bool lost;    /* the fd is not positioned at next, and next is not
                   * buffered */
    size_t pos, end;
    char *buffer; /* NULL: none now */
};

static atomic_uint n_buffers;

struct dir_stream *dir_stream_new(int fd)
{
    struct dir_stream *stream = g_new0(struct dir_stream, 1);

    stream->fd = fd;
    return stream;
}

static int need_buffer(struct dir_stream *stream)
{
    if (stream->buffer)
        return 0;
    stream->buffer = g_try_malloc(BUFFER_SIZE);
    if (!stream->buffer)
        return -ENOMEM;
    atomic_fetch_add(&n_buffers, 1);
    return 0;
}

static void drop_buffer(struct dir_stream *stream)
{
    if (!stream->buffer)
        return;
    g_free(g_steal_pointer(&stream->buffer));
    atomic_fetch_sub(&n_buffers, 1);
    stream->pos = stream->end = 0;
    stream->lost = true;
}

void dir_stream_free(struct dir_stream *stream)
{
    drop_buffer(stream);
    g_free(stream);
}

int dir_stream_seek(struct dir_stream *stream, int64_t offset)
{
    if (offset == stream->next && offset != 0 && !stream->lost)
        return 0;
    if (lseek(stream->fd, offset, SEEK_SET) < 0)
        return -errno;
    stream->next = offset;
    stream->lost = false;
    stream->pos = stream->end = 0;
    return 0;
}

static int peek(struct dir_stream *stream, const struct dir_entry **ret_entry)
{
    if (stream->pos == stream->end) {
        int r = need_buffer(stream);
        ssize_t n;

        if (r < 0)
            return r;
        n = getdents64(stream->fd, stream->buffer, BUFFER_SIZE);
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

int dir_stream_peek(struct dir_stream *stream,
                    const struct dir_entry **ret_entry)
{
    int r;

    while ((r = peek(stream, ret_entry)) > 0 && log_name_is((*ret_entry)->name))
        dir_stream_advance(stream);
    return r;
}

void dir_stream_pause(struct dir_stream *stream)
{
    if (stream->pos == stream->end ||
        atomic_load(&n_buffers) > DIR_STREAM_MAX_KEPT)
        drop_buffer(stream);
}
