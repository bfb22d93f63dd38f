/* SPDX-License-Identifier: Apache-2.0
 *
 * leader - see leader.h.
 */
#include "shim/leader.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* fd numbers of the leader's pipe ends; below are the three streams. */
enum { REPORT_FD = 3, HOLD_FD, FIRST_OTHER_FD };

int leader_open(struct leader *leader, struct leader_ends *ends)
{
    int report[2], hold[2];

    if (pipe2(report, O_CLOEXEC) < 0)
        return -errno;
    if (pipe2(hold, O_CLOEXEC) < 0) {
        int error = errno;

        close(report[0]);
        close(report[1]);
        return -error;
    }
    fcntl(report[0], F_SETFL, O_NONBLOCK);
    *leader = (struct leader){ .report = report[0], .hold = hold[1] };
    *ends = (struct leader_ends){ .report = report[1], .hold = hold[0] };
    return 0;
}

void leader_close_ends(const struct leader_ends *ends)
{
    close(ends->report);
    close(ends->hold);
}

static void report(int fd, int value)
{
    if (write(fd, &value, sizeof(value)) < 0)
        _exit(1);
}

/* Wait for the command as its leader. The leader holds none of the command's
 * pipes, so the shim sees when the command closes one. */
static _Noreturn void wait_for_release(pid_t command, bool has_terminal)
{
    char byte;
    pid_t ended;
    int status;

    close_range(FIRST_OTHER_FD, ~0U, 0);
    if (!has_terminal)
        close_range(STDIN_FILENO, STDERR_FILENO, 0);
    do
        ended = waitpid(-1, &status, 0); /* includes orphans */
    while (ended != command && (ended > 0 || errno == EINTR));
    report(REPORT_FD, status);
    signal(SIGCHLD, SIG_IGN); /* later children are reaped automatically */
    while (read(HOLD_FD, &byte, 1) < 0 && errno == EINTR)
        continue;
    _exit(0);
}

/* Move the fds above all target numbers first, so that no dup2() overwrites a
 * source. */
static void arrange_ends(const struct leader_ends *ends)
{
    int report_fd = fcntl(ends->report, F_DUPFD_CLOEXEC, FIRST_OTHER_FD);
    int hold_fd = fcntl(ends->hold, F_DUPFD_CLOEXEC, FIRST_OTHER_FD);

    dup3(report_fd, REPORT_FD, O_CLOEXEC);
    dup3(hold_fd, HOLD_FD, O_CLOEXEC);
    close(report_fd);
    close(hold_fd);
}

static void lead_terminal(int terminal)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        dup2(terminal, fd);
    setsid();
    ioctl(STDIN_FILENO, TIOCSCTTY, 0);
}

void leader_begin(const struct leader_ends *ends, int terminal)
{
    sigset_t all;
    pid_t command;

    if (terminal >= 0)
        lead_terminal(terminal);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    /* The leader must survive signals of a terminal or a cancel, so it blocks
     * all signals. The command restores the defaults before it unblocks them,
     * so that no signal is lost: a blocked signal stays pending even while it
     * is ignored. */
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    command = fork();
    if (command < 0)
        _exit(126);
    if (command > 0) {
        arrange_ends(ends);
        wait_for_release(command, terminal >= 0);
    }
    /* Reported before the command does anything that the host can see. */
    report(ends->report, getpid());
    if (terminal >= 0) {
        setpgid(0, 0);
        /* SIGTTOU is ignored here; the command restores the default. */
        tcsetpgrp(STDIN_FILENO, getpid());
    }
}

pid_t leader_command(struct leader *leader)
{
    int value;

    if (!leader->command && leader->report >= 0 &&
        read(leader->report, &value, sizeof(value)) == sizeof(value))
        leader->command = value;
    return leader->command;
}

bool leader_read_status(struct leader *leader, int *ret_status)
{
    int value;

    if (!leader_command(leader) || leader->report < 0 ||
        read(leader->report, &value, sizeof(value)) != sizeof(value))
        return false;
    *ret_status = value;
    return true;
}

void leader_release(struct leader *leader)
{
    if (leader->hold >= 0)
        close(leader->hold);
    if (leader->report >= 0)
        close(leader->report);
    leader->hold = leader->report = -1;
}
