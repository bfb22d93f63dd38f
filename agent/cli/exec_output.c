/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_output - see exec_output.h.
 */
#include "agent/cli/exec_output.h"

#include <errno.h>
#include <glib-unix.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

/* Bytes that may wait while the output is paused. */
enum { PAUSED_MAX = 1 << 20 };

struct chunk {
    int fd;
    GBytes *data;
    size_t written;
};

struct exec_output {
    const struct exec_output_callbacks *callbacks;
    void *opaque;
    GQueue chunks; /* of struct chunk, in order */
    gsize size;    /* bytes that wait */
    guint source;  /* waits for the first one's fd */
    bool broken, paused, full;
};

struct exec_output *
exec_output_new(const struct exec_output_callbacks *callbacks, void *opaque)
{
    struct exec_output *output = g_new0(struct exec_output, 1);

    output->callbacks = callbacks;
    output->opaque = opaque;
    g_queue_init(&output->chunks);
    return output;
}

static void chunk_free(gpointer data)
{
    struct chunk *chunk = data;

    g_bytes_unref(chunk->data);
    g_free(chunk);
}

void exec_output_free(struct exec_output *output)
{
    g_clear_handle_id(&output->source, g_source_remove);
    g_queue_clear_full(&output->chunks, chunk_free);
    g_free(output);
}

static bool is_ready(int fd, int timeout_ms)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };

    return poll(&poll_fd, 1, timeout_ms) > 0;
}

static void take_break(struct exec_output *output, bool hung_up)
{
    bool first = !output->broken;

    output->broken = true;
    g_queue_clear_full(&output->chunks, chunk_free);
    output->size = 0;
    if (first)
        output->callbacks->broken(hung_up, output->opaque);
}

/* Write a part of the first chunk. Return false if it broke. */
static bool write_part(struct exec_output *output)
{
    struct chunk *chunk = g_queue_peek_head(&output->chunks);
    gsize len;
    const char *data = g_bytes_get_data(chunk->data, &len);
    ssize_t n = write(chunk->fd, data + chunk->written,
                      MIN(len - chunk->written, PIPE_BUF));

    if (n < 0 && errno != EINTR && errno != EAGAIN) {
        take_break(output, errno == EIO);
        return false;
    }
    if (n > 0) {
        chunk->written += (size_t)n;
        output->size -= (size_t)n;
    }
    if (chunk->written == len)
        chunk_free(g_queue_pop_head(&output->chunks));
    return true;
}

/* Write while the fds take it, or, if wait, all. */
static void write_chunks(struct exec_output *output, bool wait)
{
    struct chunk *chunk;

    while ((chunk = g_queue_peek_head(&output->chunks))) {
        if (!is_ready(chunk->fd, wait ? -1 : 0)) {
            if (!wait)
                return;
            continue;
        }
        if (!write_part(output))
            return;
    }
}

static gboolean on_ready(int fd, GIOCondition condition, gpointer data);

static void update(struct exec_output *output)
{
    struct chunk *chunk = g_queue_peek_head(&output->chunks);
    bool waits = chunk && !output->paused;
    bool full = waits || output->size > PAUSED_MAX;

    if (!waits)
        g_clear_handle_id(&output->source, g_source_remove);
    else if (!output->source)
        output->source = g_unix_fd_add(
            chunk->fd, G_IO_OUT | G_IO_ERR | G_IO_HUP, on_ready, output);
    if (full != output->full) {
        output->full = full;
        output->callbacks->full(full, output->opaque);
    }
}

static gboolean on_ready(int fd, GIOCondition condition, gpointer data)
{
    struct exec_output *output = data;
    struct chunk *chunk;

    write_chunks(output, false);
    chunk = g_queue_peek_head(&output->chunks);
    if (chunk && chunk->fd == fd)
        return G_SOURCE_CONTINUE;
    output->source = 0;
    update(output);
    return G_SOURCE_REMOVE;
}

void exec_output_add(struct exec_output *output, bool is_stderr, char *data,
                     size_t len)
{
    struct chunk *chunk;

    if (output->broken || len == 0) {
        g_free(data);
        return;
    }
    chunk = g_new(struct chunk, 1);
    *chunk = (struct chunk){ is_stderr ? STDERR_FILENO : STDOUT_FILENO,
                             g_bytes_new_take(data, len), 0 };
    output->size += len;
    g_queue_push_tail(&output->chunks, chunk);
    if (!output->paused)
        write_chunks(output, false);
    update(output);
}

void exec_output_pause(struct exec_output *output, bool pause)
{
    output->paused = pause;
    update(output);
}

void exec_output_finish(struct exec_output *output)
{
    write_chunks(output, true);
    update(output);
}
