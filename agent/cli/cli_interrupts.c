/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_interrupts - see cli_interrupts.h.
 */
#include "agent/cli/cli_interrupts.h"

#include <errno.h>
#include <glib-unix.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/inherited.h"

enum {
    WRITE_CHUNK = 4096, /* PIPE_BUF: does not block after POLLOUT */
    WRITE_POLL_MS = 200,
};

static volatile sig_atomic_t interrupts;
static int wake_fd = -1;
static void (*on_woken)(void *opaque);

static void on_signal(int number)
{
    int saved = errno;
    static const guint64 one = 1;

    interrupts++;
    if (write(wake_fd, &one, sizeof(one)) < 0)
        interrupts++; /* cannot fail in practice; if it does, end sooner */
    errno = saved;
}

static gboolean on_wake(int fd, GIOCondition condition, gpointer data)
{
    guint64 count;

    if (read(fd, &count, sizeof(count)) == sizeof(count))
        on_woken(data);
    return G_SOURCE_CONTINUE;
}

bool cli_interrupts_catch(void (*woken)(void *opaque), void *opaque)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action = { .sa_handler = on_signal,
                                .sa_flags = SA_RESTART };

    wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_fd < 0)
        return false;
    on_woken = woken;
    for (size_t i = 0; i < G_N_ELEMENTS(signals); i++) {
        if (!inherited_signal_is_ignored(signals[i]))
            sigaction(signals[i], &action, NULL);
    }
    g_unix_fd_add(wake_fd, G_IO_IN, on_wake, opaque);
    return true;
}

int cli_interrupts_count(void)
{
    return interrupts;
}

bool cli_interrupts_write(int seen, int fd, const char *data, size_t len)
{
    while (len > 0 && interrupts == seen) {
        struct pollfd p = { .fd = fd, .events = POLLOUT };
        ssize_t n;

        if (poll(&p, 1, WRITE_POLL_MS) <= 0)
            continue;
        n = write(fd, data, MIN(len, (size_t)WRITE_CHUNK));
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        if (n > 0) {
            data += n;
            len -= (size_t)n;
        }
    }
    return true;
}
