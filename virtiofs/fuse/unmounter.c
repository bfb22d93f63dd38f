/* SPDX-License-Identifier: Apache-2.0
 *
 * unmounter - see unmounter.h.
 *
 * One byte from the daemon starts the unmount; end of file without it, however
 * it came about, cancels.
 */
#include "virtiofs/fuse/unmounter.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/host_environ.h"
#include "common/host_program.h"

struct unmounter {
    int fd;
    pid_t pid;
};

/* The daemon has threads: only system calls are allowed from here on. */
static void wait_and_run(int fd, const char *program, const char *dir,
                         char **env)
{
    const char *const argv[] = { program, "-u", "-q", "-z", "--", dir, NULL };
    char byte;

    prctl(PR_SET_NAME, "stepback-umount");
    if (fd_keep_one(fd) < 0 || read(3, &byte, 1) != 1)
        _exit(1);
    execve(program, (char *const *)argv, env);
    _exit(127);
}

struct unmounter *unmounter_start(const char *dir)
{
    g_autofree char *program = host_program_find("fusermount3");
    g_auto(GStrv) env = host_environ_new(NULL);
    struct unmounter *unmounter;
    int ends[2];
    pid_t pid;

    if (!program ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return NULL;
    pid = fork();
    if (pid == 0)
        wait_and_run(ends[1], program, dir, env);
    fd_close(&ends[1]);
    if (pid < 0) {
        fd_close(&ends[0]);
        return NULL;
    }
    unmounter = g_new0(struct unmounter, 1);
    unmounter->fd = ends[0];
    unmounter->pid = pid;
    return unmounter;
}

/* Return false if the unmount failed or did not run. */
static bool end(struct unmounter *unmounter)
{
    pid_t pid = unmounter->pid;
    int status = -1;

    unmounter->pid = 0;
    fd_close(&unmounter->fd);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool unmounter_run(struct unmounter *unmounter)
{
    if (!unmounter)
        return false;
    if (send(unmounter->fd, "u", 1, MSG_NOSIGNAL) != 1) {
        end(unmounter);
        return false;
    }
    return end(unmounter);
}

void unmounter_free(struct unmounter *unmounter)
{
    if (!unmounter)
        return;
    end(unmounter);
    g_free(unmounter);
}
