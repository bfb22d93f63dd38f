/* SPDX-License-Identifier: Apache-2.0
 *
 * jsonl - see jsonl.h.
 *
 * The input buffer holds at most one incomplete line of max_line bytes, plus
 * the result of one read(2). "discarding" means that the current line was too
 * long: its bytes are searched for its id until the callback was called
 * ("reported"), and dropped up to its newline.
 *
 * A callback may free the channel. So each function that calls one keeps a
 * reference across the call and checks "dead" after it.
 */
#include "common/jsonl.h"

#include <errno.h>
#include <glib-unix.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/json_member.h"
#include "common/json_problem.h"
#include "common/wiped.h"

enum { READ_CHUNK = 65536, READS_PER_WAKE = 16 };

struct jsonl_channel {
    int refs;
    int in_fd, out_fd;
    size_t max_line, max_queue;
    const struct jsonl_callbacks *callbacks;
    void *opaque;

    GSource *in_source, *out_source, *stalled_source;
    GSource *gone_source; /* waits for the end of a peer that stopped sending */
    GString *input;
    size_t searched; /* the first bytes of input, without a newline */
    bool discarding, reported;
    struct json_member id; /* of the discarded line */
    bool stalled;          /* complete lines wait in input */
    bool ended;            /* no more reading; "ended" was called */
    bool held;             /* the program does not want to read */
    bool finishing;        /* no further output will be queued */
    bool closed;           /* no more reading; "closed" was called */
    bool broken;           /* no more writing either */
    bool dead;             /* freed by its owner */

    GQueue lines; /* of GBytes, each with its newline */
    size_t queued_bytes;
    bool filled;        /* more than JSONL_LOW was queued; "drained" is due */
    size_t head_offset; /* bytes of the first line already written */
};

static void update_sources(struct jsonl_channel *channel);

static void drop_source(GSource **source)
{
    if (*source) {
        g_source_destroy(*source);
        g_source_unref(*source);
        *source = NULL;
    }
}

static void channel_unref(struct jsonl_channel *channel)
{
    if (--channel->refs > 0)
        return;
    drop_source(&channel->in_source);
    drop_source(&channel->out_source);
    drop_source(&channel->stalled_source);
    drop_source(&channel->gone_source);
    if (channel->out_fd != channel->in_fd)
        fd_close(&channel->out_fd);
    fd_close(&channel->in_fd);
    g_queue_clear_full(&channel->lines, (GDestroyNotify)g_bytes_unref);
    wiped_free(channel->input);
    json_member_clear(&channel->id);
    g_free(channel);
}

void jsonl_channel_free(struct jsonl_channel *channel)
{
    if (!channel)
        return;
    channel->dead = true;
    channel->closed = true;
    channel->broken = true;
    update_sources(channel);
    channel_unref(channel);
}

/* The input has ended. With a separate fd, the output may continue. */
static void channel_close(struct jsonl_channel *channel, bool broken)
{
    if (broken || channel->in_fd == channel->out_fd)
        channel->broken = true;
    if (channel->closed)
        return;
    channel->closed = true;
    update_sources(channel);
    if (channel->callbacks->closed)
        channel->callbacks->closed(channel, channel->opaque);
}

/* Report a malformed line, with its id if it can be found: the sender may wait
 * for a reply. */
static void report_malformed(struct jsonl_channel *channel, const char *line,
                             size_t len, const char *problem)
{
    struct json_member id;

    json_member_init(&id, channel->callbacks->id_member);
    if (id.name)
        json_member_feed(&id, line, len);
    channel->callbacks->line(channel, JSONL_MALFORMED, id.found, problem,
                             channel->opaque);
    json_member_clear(&id);
}

static void deliver(struct jsonl_channel *channel, const char *line, size_t len)
{
    json_error_t error;
    json_t *message = json_loadb(
        line, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);

    if (!message) {
        g_autofree char *problem = json_problem_tell(&error);

        report_malformed(channel, line, len, problem);
    } else if (!json_is_object(message) && !channel->callbacks->takes_any) {
        channel->callbacks->line(channel, JSONL_MALFORMED, NULL,
                                 "a message must be a JSON object",
                                 channel->opaque);
    } else {
        channel->callbacks->line(channel, JSONL_OK, message, NULL,
                                 channel->opaque);
    }
    json_decref(message);
}

/* ---- the end of the input ------------------------------------------------ */

/* Return whether a peer that stopped sending still reads: a socket that was
 * shut down only in that direction does not report a hang-up, nor does a pipe
 * with a reader. */
static bool peer_reads(const struct jsonl_channel *channel)
{
    struct pollfd p = { .fd = channel->out_fd };

    return poll(&p, 1, 0) == 0;
}

static void channel_end(struct jsonl_channel *channel)
{
    if (channel->closed)
        return;
    if (!channel->callbacks->ended || !peer_reads(channel)) {
        channel_close(channel, false);
        return;
    }
    channel->ended = true;
    update_sources(channel);
    /* An incomplete message is invalid, so any line that parses was
     * complete. */
    if (channel->input->len > 0)
        deliver(channel, channel->input->str, channel->input->len);
    if (!channel->dead)
        channel->callbacks->ended(channel, channel->opaque);
}

/* ---- lines that are too long --------------------------------------------- */

static void report_too_long(struct jsonl_channel *channel)
{
    g_autofree char *text = g_strdup_printf(
        "the line is longer than the limit of %zu bytes", channel->max_line);

    if (channel->reported)
        return;
    channel->reported = true;
    channel->callbacks->line(channel, JSONL_TOO_LONG, channel->id.found, text,
                             channel->opaque);
}

/* Discard these bytes of a line, the first ones with begin. */
static void discard(struct jsonl_channel *channel, const char *data, size_t len,
                    bool begin)
{
    if (begin) {
        json_member_clear(&channel->id);
        channel->discarding = true;
        channel->reported = false;
    }
    if (!channel->reported && (!channel->callbacks->id_member ||
                               json_member_feed(&channel->id, data, len)))
        report_too_long(channel);
}

/* The discarded line ended, by its newline or the end of input. */
static void end_discarding(struct jsonl_channel *channel)
{
    channel->discarding = false;
    report_too_long(channel);
}

/* ---- reading ------------------------------------------------------------- */

/* Discard an incomplete line that is too long already. */
static void limit_rest(struct jsonl_channel *channel)
{
    channel->searched = channel->input->len;
    if (channel->discarding || channel->input->len > channel->max_line) {
        discard(channel, channel->input->str, channel->input->len,
                !channel->discarding);
        g_string_truncate(channel->input, 0);
        channel->searched = 0;
    }
}

static void take_line(struct jsonl_channel *channel, size_t len)
{
    if (channel->discarding || len > channel->max_line) {
        discard(channel, channel->input->str, len, !channel->discarding);
        if (!channel->dead)
            end_discarding(channel);
    } else if (len > 0) {
        deliver(channel, channel->input->str, len);
    }
    wiped_erase(channel->input, len + 1);
    channel->searched = 0;
}

static const char *find_newline(const struct jsonl_channel *channel)
{
    return memchr(channel->input->str + channel->searched, '\n',
                  channel->input->len - channel->searched);
}

/* Deliver the first complete line of the input buffer, if there is room for a
 * reply. Return false if there is no such line. While more of them wait, the
 * main loop serves each other channel once for each line, so that a peer that
 * floods gets no larger share than others. */
static bool take_turn(struct jsonl_channel *channel)
{
    const char *newline = find_newline(channel);
    bool found = newline != NULL;

    channel->stalled = found && channel->queued_bytes > channel->max_queue;
    if (channel->stalled)
        return true;
    if (found) {
        take_line(channel, (size_t)(newline - channel->input->str));
        channel->stalled = !channel->dead && find_newline(channel);
    }
    if (!channel->dead && !channel->stalled)
        limit_rest(channel);
    return found;
}

static gboolean on_readable(int fd, GIOCondition condition, gpointer data)
{
    struct jsonl_channel *channel = data;
    char *chunk = g_malloc(READ_CHUNK);

    channel->refs++;
    for (int i = 0; i < READS_PER_WAKE && !channel->closed; i++) {
        ssize_t n = read(fd, chunk, READ_CHUNK);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (n <= 0 && channel->discarding)
            end_discarding(channel);
        if (n < 0)
            channel_close(channel, false);
        else if (n == 0)
            channel_end(channel);
        if (n <= 0)
            break;
        wiped_append(channel->input, chunk, (size_t)n);
        explicit_bzero(chunk, (size_t)n);
        if (take_turn(channel) || channel->held)
            break;
    }
    if (!channel->dead)
        update_sources(channel);
    channel_unref(channel);
    g_free(chunk);
    return G_SOURCE_CONTINUE;
}

/* Write until the fd would block. Return false if the channel broke. */
static bool write_some(struct jsonl_channel *channel)
{
    GBytes *line;

    while ((line = g_queue_peek_head(&channel->lines))) {
        size_t len;
        const char *text = g_bytes_get_data(line, &len);
        ssize_t n = fd_send(channel->out_fd, text + channel->head_offset,
                            len - channel->head_offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN;
        channel->head_offset += (size_t)n;
        channel->queued_bytes -= (size_t)n;
        if (channel->head_offset == len) {
            channel->head_offset = 0;
            g_bytes_unref(g_queue_pop_head(&channel->lines));
        }
    }
    return true;
}

static gboolean on_writable(int fd, GIOCondition condition, gpointer data)
{
    struct jsonl_channel *channel = data;

    channel->refs++;
    if (!write_some(channel) ||
        (channel->finishing && g_queue_is_empty(&channel->lines)))
        channel_close(channel, true);
    if (!channel->broken && !channel->dead && channel->filled &&
        channel->queued_bytes <= JSONL_LOW) {
        channel->filled = false;
        channel->callbacks->drained(channel, channel->opaque);
    }
    if (!channel->dead)
        update_sources(channel);
    channel_unref(channel);
    return G_SOURCE_CONTINUE;
}

/* Even without requested events, poll(2) reports that the peer hung up. */
static gboolean on_gone(int fd, GIOCondition condition, gpointer data)
{
    struct jsonl_channel *channel = data;

    channel->refs++;
    channel_close(channel, true);
    if (!channel->dead)
        update_sources(channel);
    channel_unref(channel);
    return G_SOURCE_CONTINUE;
}

static gboolean on_room(gpointer data)
{
    struct jsonl_channel *channel = data;

    channel->refs++;
    drop_source(&channel->stalled_source);
    if (!channel->closed)
        take_turn(channel);
    if (!channel->dead)
        update_sources(channel);
    channel_unref(channel);
    return G_SOURCE_REMOVE;
}

static void wake_stalled(struct jsonl_channel *channel)
{
    channel->stalled_source = g_idle_source_new();
    g_source_set_priority(channel->stalled_source, G_PRIORITY_DEFAULT);
    g_source_set_callback(channel->stalled_source, on_room, channel, NULL);
    g_source_attach(channel->stalled_source,
                    g_main_context_get_thread_default());
}

static GSource *watch(struct jsonl_channel *channel, int fd,
                      GIOCondition condition, GUnixFDSourceFunc func)
{
    GSource *source = g_unix_fd_source_new(fd, condition);

    g_source_set_callback(source, G_SOURCE_FUNC(func), channel, NULL);
    g_source_attach(source, g_main_context_get_thread_default());
    return source;
}

static void update_sources(struct jsonl_channel *channel)
{
    bool room = !channel->closed && channel->queued_bytes <= channel->max_queue;
    bool want_in = room && !channel->stalled && !channel->ended &&
                   !channel->held;
    bool want_out = !channel->broken && (!g_queue_is_empty(&channel->lines) ||
                                         channel->finishing || channel->filled);
    bool want_gone = channel->ended && !channel->closed;

    if (!room || !channel->stalled)
        drop_source(&channel->stalled_source);
    else if (!channel->stalled_source)
        wake_stalled(channel);
    if (!want_in)
        drop_source(&channel->in_source);
    else if (!channel->in_source)
        channel->in_source = watch(channel, channel->in_fd,
                                   G_IO_IN | G_IO_HUP | G_IO_ERR, on_readable);
    if (!want_out)
        drop_source(&channel->out_source);
    else if (!channel->out_source)
        channel->out_source = watch(channel, channel->out_fd,
                                    G_IO_OUT | G_IO_HUP | G_IO_ERR,
                                    on_writable);
    if (!want_gone)
        drop_source(&channel->gone_source);
    else if (!channel->gone_source)
        channel->gone_source = watch(channel, channel->out_fd,
                                     G_IO_HUP | G_IO_ERR, on_gone);
}

struct jsonl_channel *jsonl_channel_new(int in_fd, int out_fd, size_t max_line,
                                        size_t max_queue,
                                        const struct jsonl_callbacks *callbacks,
                                        void *opaque)
{
    struct jsonl_channel *channel = g_new0(struct jsonl_channel, 1);

    channel->refs = 1;
    channel->in_fd = in_fd;
    channel->out_fd = out_fd;
    channel->max_line = max_line;
    channel->max_queue = max_queue;
    channel->callbacks = callbacks;
    channel->opaque = opaque;
    channel->input = g_string_new(NULL);
    json_member_init(&channel->id, callbacks->id_member);
    g_queue_init(&channel->lines);
    g_unix_set_fd_nonblocking(in_fd, TRUE, NULL);
    g_unix_set_fd_nonblocking(out_fd, TRUE, NULL);
    update_sources(channel);
    return channel;
}

bool jsonl_channel_send(struct jsonl_channel *channel, json_t *message,
                        bool droppable)
{
    char *text = json_dumps(message, JSON_COMPACT);
    size_t len = text ? strlen(text) : 0;

    json_decref(message);
    if (!text || channel->broken ||
        (droppable && channel->queued_bytes + len > channel->max_queue)) {
        wiped_free_memory(text);
        return false;
    }
    text[len] = '\n'; /* replaces the NUL: GBytes stores the length */
    g_queue_push_tail(&channel->lines, wiped_bytes(text, len + 1));
    channel->queued_bytes += len + 1;
    /* A later send may drain the queue: on_writable() then still calls back. */
    if (channel->queued_bytes > JSONL_LOW && channel->callbacks->drained)
        channel->filled = true;
    if (!write_some(channel)) {
        /* on_writable() finds the broken fd again, outside the caller's stack:
         * a send never calls back. */
        update_sources(channel);
        return false;
    }
    update_sources(channel);
    return true;
}

void jsonl_channel_hold(struct jsonl_channel *channel, bool hold)
{
    channel->held = hold;
    update_sources(channel);
}

size_t jsonl_channel_queued(const struct jsonl_channel *channel)
{
    return channel->queued_bytes;
}

void jsonl_channel_finish(struct jsonl_channel *channel)
{
    channel->finishing = true;
    update_sources(channel);
}

bool jsonl_channel_flush(struct jsonl_channel *channel, int timeout_ms)
{
    gint64 end = g_get_monotonic_time() + timeout_ms * G_TIME_SPAN_MILLISECOND;

    while (!channel->broken && !g_queue_is_empty(&channel->lines)) {
        struct pollfd p = { .fd = channel->out_fd, .events = POLLOUT };
        gint64 left = (end - g_get_monotonic_time()) / 1000;

        if (left < 0 || poll(&p, 1, (int)left) < 0 || !write_some(channel))
            break;
    }
    return g_queue_is_empty(&channel->lines);
}
