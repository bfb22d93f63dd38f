/* SPDX-License-Identifier: Apache-2.0
 *
 * term_guard - see term_guard.h.
 *
 * The child holds the reading end of a pipe and waits for one byte: '.' if the
 * end was orderly, nothing (end of file) if this process was killed.
 */
#include "agent/cli/term_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "common/fd.h"

/* Leave the alternate screen, show the cursor, no mouse events, no bracketed
 * paste, cursor keys and keypad as usual, no attributes (xterm's ctlseqs). */
static const char reset_modes[] = "\033[?1049l\033[?25h\033[?1000l\033[?1002l"
                                  "\033[?1003l\033[?1006l\033[?2004l\033[?1l"
                                  "\033>\033[0m";

static const char late_text[] = "stepback was killed; Enter shows the shell's "
                                "prompt\r\n";

enum { KEPT = STDERR_FILENO + 1 }; /* the child's end of the pipe */

enum { ORDERLY = '.', DISORDERLY = '!' };

struct term_guard {
    int pipe; /* to the child */
    pid_t child;
};

bool term_guard_size(int fd, unsigned *ret_rows, unsigned *ret_columns)
{
    struct winsize size;

    if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 ||
        size.ws_col == 0)
        return false;
    *ret_rows = size.ws_row;
    *ret_columns = size.ws_col;
    return true;
}

/* In the child: wait, then restore. A shell that was faster has set its own
 * modes, and what it printed may go with the alternate screen. */
static void watch(int fd, int pipe, const struct termios *saved)
{
    char byte = DISORDERLY;
    pid_t front;
    bool late;
    ssize_t n;

    do
        n = read(pipe, &byte, 1);
    while (n < 0 && errno == EINTR);
    front = tcgetpgrp(fd); /* -1: not the terminal of this session */
    late = front > 0 && front != getpgrp();
    /* Wait for queued output first. */
    if (!late)
        tcsetattr(fd, TCSADRAIN, saved);
    if (n <= 0 || byte != ORDERLY)
        (void)!write(fd, reset_modes, sizeof(reset_modes) - 1);
    if (late && n <= 0)
        (void)!write(fd, late_text, sizeof(late_text) - 1);
    _exit(0);
}

/* A background process that changes the terminal gets SIGTTOU. */
static void ignore_signals(void)
{
    static const int ignored[] = { SIGTTOU, SIGTTIN, SIGTSTP, SIGINT,  SIGQUIT,
                                   SIGHUP,  SIGTERM, SIGPIPE, SIGWINCH };

    for (size_t i = 0; i < G_N_ELEMENTS(ignored); i++)
        signal(ignored[i], SIG_IGN);
}

/* Close all but the standard streams and the pipe: a connection that stayed
 * open would hide this process's end from the peer. */
static void keep_pipe(int pipe)
{
    if (pipe != KEPT)
        dup2(pipe, KEPT);
    close_range(KEPT + 1, ~0U, 0);
}

/* Start the child. On failure return false, errno is set. */
static bool start_child(struct term_guard *guard, int fd,
                        const struct termios *saved)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    guard->child = fork();
    if (guard->child == 0) {
        ignore_signals();
        keep_pipe(ends[0]);
        watch(fd, KEPT, saved);
    }
    close(ends[0]);
    if (guard->child < 0) {
        close(ends[1]);
        return false;
    }
    guard->pipe = ends[1];
    return true;
}

struct term_guard *term_guard_begin(int fd)
{
    struct term_guard *guard = g_new0(struct term_guard, 1);
    struct termios saved, raw;

    guard->pipe = -1;
    if (tcgetattr(fd, &saved) < 0 || !start_child(guard, fd, &saved)) {
        g_free(guard);
        return NULL;
    }
    raw = saved;
    cfmakeraw(&raw);
    if (tcsetattr(fd, TCSADRAIN, &raw) < 0) {
        int saved_errno = errno;

        term_guard_end(guard, true);
        errno = saved_errno;
        return NULL;
    }
    return guard;
}

void term_guard_end(struct term_guard *guard, bool orderly)
{
    const char byte = orderly ? ORDERLY : DISORDERLY;

    if (!guard)
        return;
    (void)!write(guard->pipe, &byte, 1);
    fd_close(&guard->pipe);
    while (waitpid(guard->child, NULL, 0) < 0 && errno == EINTR)
        ;
    g_free(guard);
}
