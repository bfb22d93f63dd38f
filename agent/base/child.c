/* SPDX-License-Identifier: Apache-2.0
 *
 * child - see child.h.
 *
 * Signals go to the process group that the child leads since before exec, so
 * they reach the children of a wrapper script too. The kernel cannot reuse the
 * group id until the child is reaped, so a signal never hits an unrelated
 * group.
 */
#include "agent/base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/install_paths.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/host_environ.h"

enum { MAX_LINE = 8192, READ_CHUNK = 4096, READS_PER_WAKE = 16 };

struct child {
    GPid pid;
    bool running;
    bool freed; /* by its owner; only the reaper still uses it */
    int status;
    const struct child_callbacks *callbacks;
    void *opaque;

    int stderr_fd;
    guint stderr_source;
    GString *line; /* the incomplete line; bytes past MAX_LINE are dropped */

    guint timer;
    unsigned grace_ms; /* from SIGTERM to SIGKILL */
};

/* State that the new process needs between fork and exec. */
struct setup {
    pid_t parent;
    const int *fds;
    size_t n_fds;
};

/* Runs in the forked child: async-signal-safe calls only. */
static void prepare_exec(gpointer data)
{
    const struct setup *setup = data;

    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* The parent may have died before prctl() took effect. */
    if (getppid() != setup->parent)
        _exit(127);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    for (size_t i = 0; i < setup->n_fds; i++)
        fcntl(setup->fds[i], F_SETFD, 0);
}

static void end_line(struct child *child)
{
    g_autofree char *text = g_utf8_make_valid(child->line->str,
                                              (gssize)child->line->len);

    g_string_truncate(child->line, 0);
    if (*text == '\0')
        return;
    if (!child->freed && child->callbacks->line)
        child->callbacks->line(child, text, child->opaque);
}

static void take_bytes(struct child *child, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (data[i] == '\n')
            end_line(child);
        else if (child->line->len < MAX_LINE)
            g_string_append_c(child->line, data[i]);
    }
}

/* Read the available bytes. Return false at end of file. */
static bool read_stderr(struct child *child)
{
    char chunk[READ_CHUNK];

    for (int i = 0; i < READS_PER_WAKE; i++) {
        ssize_t n = read(child->stderr_fd, chunk, sizeof(chunk));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return true;
        if (n <= 0)
            return false;
        take_bytes(child, chunk, (size_t)n);
    }
    return true;
}

static gboolean on_stderr(int fd, GIOCondition condition, gpointer data)
{
    struct child *child = data;

    if (read_stderr(child))
        return G_SOURCE_CONTINUE;
    child->stderr_source = 0;
    return G_SOURCE_REMOVE;
}

static void child_destroy(struct child *child)
{
    g_clear_handle_id(&child->stderr_source, g_source_remove);
    g_clear_handle_id(&child->timer, g_source_remove);
    fd_close(&child->stderr_fd);
    g_string_free(child->line, TRUE);
    g_free(child);
}

static void on_reaped(GPid pid, int status, gpointer data)
{
    struct child *child = data;

    child->running = false;
    child->status = status;
    g_spawn_close_pid(pid);
    g_clear_handle_id(&child->timer, g_source_remove);
    if (child->freed) {
        child_destroy(child);
        return;
    }
    /* Do not wait for end of file: a process that the child left may hold the
     * pipe. */
    read_stderr(child);
    end_line(child);
    g_clear_handle_id(&child->stderr_source, g_source_remove);
    if (child->callbacks->exited)
        child->callbacks->exited(child, child->opaque);
}

struct child *child_spawn(const char *const *argv, const int *fds, size_t n_fds,
                          const struct child_callbacks *callbacks, void *opaque,
                          GError **error)
{
    struct setup setup = { .parent = getpid(), .fds = fds, .n_fds = n_fds };
    g_auto(GStrv) env = host_environ_new(NULL);
    g_autoptr(GError) cause = NULL;
    struct child *child;
    int stderr_fd;
    GPid pid;

    if (install_paths_are_newer()) {
        g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                    "cannot run %s: Stepback was upgraded while this program "
                    "runs; stop the sandbox and start it again",
                    argv[0]);
        return NULL;
    }
    if (!g_spawn_async_with_pipes(
            "/", (char **)argv, env,
            G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL,
            prepare_exec, &setup, &pid, NULL, NULL, &stderr_fd, &cause)) {
        g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                    "cannot run %s: %s", argv[0], cause->message);
        return NULL;
    }
    child = g_new0(struct child, 1);
    child->pid = pid;
    child->running = true;
    child->callbacks = callbacks;
    child->opaque = opaque;
    child->line = g_string_new(NULL);
    child->stderr_fd = stderr_fd;
    fcntl(stderr_fd, F_SETFD, FD_CLOEXEC);
    g_unix_set_fd_nonblocking(stderr_fd, TRUE, NULL);
    child->stderr_source = g_unix_fd_add(
        stderr_fd, G_IO_IN | G_IO_HUP | G_IO_ERR, on_stderr, child);
    g_child_watch_add(pid, on_reaped, child);
    return child;
}

static void signal_group(struct child *child, int number)
{
    if (child->running && kill(-child->pid, number) < 0)
        kill(child->pid, number);
}

void child_kill(struct child *child)
{
    g_clear_handle_id(&child->timer, g_source_remove);
    signal_group(child, SIGKILL);
}

GPid child_pid(const struct child *child)
{
    return child->running ? child->pid : 0;
}

static gboolean on_grace_over(gpointer data)
{
    struct child *child = data;

    child->timer = 0;
    signal_group(child, SIGKILL);
    return G_SOURCE_REMOVE;
}

static void stop(struct child *child, unsigned grace_ms)
{
    if (!child->running)
        return;
    g_clear_handle_id(&child->timer, g_source_remove);
    signal_group(child, SIGTERM);
    child->timer = g_timeout_add(grace_ms, on_grace_over, child);
}

static gboolean on_wait_over(gpointer data)
{
    struct child *child = data;

    child->timer = 0;
    stop(child, child->grace_ms);
    return G_SOURCE_REMOVE;
}

void child_expect_exit(struct child *child, unsigned wait_ms, unsigned grace_ms)
{
    if (!child->running)
        return;
    g_clear_handle_id(&child->timer, g_source_remove);
    child->grace_ms = grace_ms;
    child->timer = g_timeout_add(wait_ms, on_wait_over, child);
}

void child_free(struct child *child)
{
    if (!child)
        return;
    child->freed = true;
    g_clear_handle_id(&child->stderr_source, g_source_remove);
    if (child->running)
        child_kill(child); /* on_reaped() destroys it */
    else
        child_destroy(child);
}

bool child_exited_cleanly(const struct child *child)
{
    return !child->running && WIFEXITED(child->status) &&
           WEXITSTATUS(child->status) == 0;
}

char *child_describe_exit(const struct child *child)
{
    if (child->running)
        return g_strdup("is still running");
    if (WIFSIGNALED(child->status))
        return g_strdup_printf("was killed by signal %d (%s)",
                               WTERMSIG(child->status),
                               strsignal(WTERMSIG(child->status)));
    return g_strdup_printf("exited with status %d", WEXITSTATUS(child->status));
}
