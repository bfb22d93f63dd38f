/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_stdin - see exec_stdin.h.
 */
#include "agent/cli/exec_stdin.h"

#include <errno.h>
#include <glib-unix.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "agent/cli/exec_keys.h"

enum {
    CHUNK = 32 * 1024,
    MAX_SENT = 4,          /* parts that wait for their answer */
    MAX_TYPED = 16 << 20,  /* bytes that wait for such a part */
    INTERRUPT = 'C' - '@', /* as a new terminal has them */
    QUIT = '\\' - '@',
};

struct exec_stdin {
    bool terminal;          /* in raw mode */
    bool is_tty;            /* also in other modes */
    struct exec_keys *keys; /* or NULL */
    const struct exec_stdin_callbacks *callbacks;
    void *opaque;
    guint source;
    unsigned sent;     /* parts that wait for their answer */
    GString *typed;    /* read from a terminal */
    size_t typed_sent; /* of its bytes */
    bool ended, refused, stopped;
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
    input->typed = g_string_new(NULL);
    return input;
}

void exec_stdin_free(struct exec_stdin *input)
{
    if (!input)
        return;
    exec_stdin_stop(input);
    exec_keys_free(input->keys);
    g_string_free(input->typed, TRUE);
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

/* ---- a terminal ---------------------------------------------------------- */

static void send_typed(struct exec_stdin *input)
{
    while (input->typed_sent < input->typed->len && input->sent < MAX_SENT &&
           !input->stopped) {
        const char *data = input->typed->str + input->typed_sent;
        size_t len = MIN(input->typed->len - input->typed_sent, CHUNK);

        input->typed_sent += len;
        send(input, data, len, false);
    }
    if (input->typed_sent == input->typed->len) {
        g_string_truncate(input->typed, 0);
        input->typed_sent = 0;
    }
}

/* A terminal is read also while the execution takes nothing, because the keys
 * must detach then too. */
static void take_typed(struct exec_stdin *input, const char *data, size_t len)
{
    size_t taken = input->callbacks->take(data, len, input->opaque);

    data += taken;
    len -= taken;
    if (len == 0 || input->refused)
        return;
    g_string_append_len(input->typed, data, (gssize)len);
    send_typed(input);
    if (memchr(data, INTERRUPT, len) || memchr(data, QUIT, len))
        input->callbacks->interrupted(input->opaque);
}

/* ---- reading ------------------------------------------------------------- */

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
    else if (len > 0 && input->terminal)
        take_typed(input, chunk, len);
    else if (len > 0 || n <= 0)
        send(input, chunk, len, n <= 0);
    watch(input);
    return G_SOURCE_REMOVE;
}

static bool has_room(const struct exec_stdin *input)
{
    if (input->terminal)
        return input->typed->len < MAX_TYPED;
    return input->sent < MAX_SENT && !input->refused;
}

static void watch(struct exec_stdin *input)
{
    if (!input->source && !input->ended && !input->stopped && has_room(input))
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
    if (refused) {
        input->refused = true;
        g_string_truncate(input->typed, 0);
        input->typed_sent = 0;
    }
    send_typed(input);
    watch(input);
}
