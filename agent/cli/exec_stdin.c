/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_stdin - see exec_stdin.h.
 */
#include "agent/cli/exec_stdin.h"

#include <errno.h>
#include <glib-unix.h>
#include <poll.h>
#include <unistd.h>

#include "agent/cli/exec_keys.h"

enum {
    CHUNK = 32 * 1024,
    MAX_SENT = 4, /* parts that wait for their answer */
};

struct exec_stdin {
    bool terminal;          /* in raw mode */
    bool is_tty;            /* also in other modes */
    struct exec_keys *keys; /* or NULL */
    const struct exec_stdin_callbacks *callbacks;
    void *opaque;
    guint source;
    unsigned sent; /* parts that wait for their answer */
    bool ended, stopped;
};

struct exec_stdin *exec_stdin_new(bool terminal, const char *keys,
                                  const struct exec_stdin_callbacks *callbacks,
                                  void *opaque)
{
    struct exec_stdin *input = g_new0(struct exec_stdin, 1);

    input->terminal = terminal;
    input->is_tty = isatty(STDIN_FILENO);
    input->keys = keys ? exec_keys_new(keys) : NULL;
    input->callbacks = callbacks;
    input->opaque = opaque;
    return input;
}

void exec_stdin_free(struct exec_stdin *input)
{
    if (!input)
        return;
    exec_stdin_stop(input);
    exec_keys_free(input->keys);
    g_free(input);
}

void exec_stdin_stop(struct exec_stdin *input)
{
    input->stopped = true;
    g_clear_handle_id(&input->source, g_source_remove);
}

static void send(struct exec_stdin *input, const char *data, size_t len,
                 bool eof)
{
    input->sent++;
    input->ended = eof;
    input->callbacks->send(data, len, eof, input->opaque);
}

/* After a read without data. A terminal in raw mode has no end; in other modes
 * a read returns 0 for ^D, and, once a session's leader has ended, also for a
 * hang-up. */
static bool is_hung_up(const struct exec_stdin *input, ssize_t n)
{
    struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };

    if (!input->is_tty)
        return false;
    return input->terminal || n < 0 ||
           (poll(&fd, 1, 0) > 0 && (fd.revents & (POLLHUP | POLLERR)));
}

static void watch(struct exec_stdin *input);

static gboolean on_input(int fd, GIOCondition condition, gpointer data)
{
    struct exec_stdin *input = data;
    char chunk[CHUNK + EXEC_KEYS_MAX];
    ssize_t n = read(fd, chunk, CHUNK);
    size_t len = n > 0 ? (size_t)n : 0;

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return G_SOURCE_CONTINUE;
    input->source = 0;
    if (len > 0 && input->keys && exec_keys_filter(input->keys, chunk, &len))
        input->callbacks->detach(input->opaque);
    else if (n <= 0 && is_hung_up(input, n))
        input->callbacks->hung_up(input->opaque);
    else if (len > 0 || n <= 0)
        send(input, chunk, len, n <= 0);
    watch(input);
    return G_SOURCE_REMOVE;
}

static void watch(struct exec_stdin *input)
{
    if (!input->source && !input->ended && !input->stopped &&
        input->sent < MAX_SENT)
        input->source = g_unix_fd_add(
            STDIN_FILENO, G_IO_IN | G_IO_HUP | G_IO_ERR, on_input, input);
}

void exec_stdin_begin(struct exec_stdin *input)
{
    watch(input);
}

void exec_stdin_taken(struct exec_stdin *input, bool refused)
{
    input->sent--;
    if (refused)
        input->ended = true;
    watch(input);
}
