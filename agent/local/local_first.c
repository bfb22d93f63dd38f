/* SPDX-License-Identifier: Apache-2.0
 *
 * local_first - see local_first.h.
 */
#include "agent/local/local_first.h"

#include <glib-unix.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"

enum { END_MS = 2000 };

long local_first_find(GPid bubblewrap)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/children",
                                            (int)bubblewrap, (int)bubblewrap);
    g_autofree char *text = NULL;

    return g_file_get_contents(path, &text, NULL, NULL) ? atol(text) : 0;
}

bool local_first_open(struct local_first *first, GPid bubblewrap)
{
    long pid = bubblewrap ? local_first_find(bubblewrap) : 0;

    if (pid <= 0)
        return false;
    first->pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    /* Still bubblewrap's child: the pid was not another process's. */
    if (first->pidfd >= 0 && local_first_find(bubblewrap) != pid)
        fd_close(&first->pidfd);
    return first->pidfd >= 0;
}

static void kill_first(const struct local_first *first)
{
    if (first->pidfd >= 0)
        syscall(SYS_pidfd_send_signal, first->pidfd, SIGKILL, NULL, 0);
}

static void finish(struct local_first *first)
{
    g_clear_handle_id(&first->source, g_source_remove);
    g_clear_handle_id(&first->timer, g_source_remove);
    fd_close(&first->pidfd);
    first->ended(first->opaque);
}

static gboolean on_ended(int fd, GIOCondition condition, gpointer data)
{
    struct local_first *first = data;

    first->source = 0;
    finish(first);
    return G_SOURCE_REMOVE;
}

static gboolean on_limit(gpointer data)
{
    struct local_first *first = data;

    first->timer = 0;
    log_warn(LOG_SESSION, "the sandbox was killed, but not all of its "
                          "processes have ended yet");
    finish(first);
    return G_SOURCE_REMOVE;
}

void local_first_end(struct local_first *first, void (*ended)(void *opaque),
                     void *opaque)
{
    if (first->pidfd < 0) {
        ended(opaque);
        return;
    }
    kill_first(first);
    first->ended = ended;
    first->opaque = opaque;
    /* The kernel ends the other processes of a pid namespace before its first
     * one has ended. */
    first->source = g_unix_fd_add(first->pidfd, G_IO_IN, on_ended, first);
    first->timer = g_timeout_add(END_MS, on_limit, first);
}

void local_first_clear(struct local_first *first)
{
    g_clear_handle_id(&first->source, g_source_remove);
    g_clear_handle_id(&first->timer, g_source_remove);
    kill_first(first);
    fd_close(&first->pidfd);
}
