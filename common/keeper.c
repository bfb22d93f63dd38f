/* SPDX-License-Identifier: Apache-2.0
 *
 * keeper - see keeper.h.
 *
 * A request is a process id, a reply the bytes of its name, over a
 * SOCK_SEQPACKET pair. Closing the pair ends the keeper.
 */
#include "common/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/unix_socket.h"

enum { NAME_SIZE = 64, END_MS = 5000 };

struct keeper {
    pthread_mutex_t lock; /* pairs each reply with its request */
    int fd;
    pid_t pid;
};

/* ---- the process --------------------------------------------------------- */

static void answer(int fd, pid_t pid)
{
    char path[32], name[NAME_SIZE];
    ssize_t n = 0;

    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    {
        fd_auto int comm = open(path, O_RDONLY | O_CLOEXEC);

        if (comm >= 0)
            n = read(comm, name, sizeof(name));
    }
    n = MAX(n, 0);
    while (n > 0 && name[n - 1] == '\n')
        n--;
    if (send(fd, name, (size_t)n, MSG_NOSIGNAL) < 0)
        return; /* the server has exited */
}

/* Return whether the socket is the same as then. The next server may have
 * replaced it already, and may have got the same inode number. */
static bool is_same_socket(const char *path, const struct stat *then)
{
    struct stat now;

    return lstat(path, &now) == 0 && now.st_dev == then->st_dev &&
           now.st_ino == then->st_ino &&
           now.st_ctim.tv_sec == then->st_ctim.tv_sec &&
           now.st_ctim.tv_nsec == then->st_ctim.tv_nsec;
}

static void serve(int fd, const char *const *sockets)
{
    struct stat then[KEEPER_MAX_SOCKETS] = { 0 };
    pid_t pid;

    for (size_t i = 0; sockets[i]; i++)
        lstat(sockets[i], &then[i]);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_NAME, "stepback-keeper");
    /* Open files of the server would keep them alive. */
    if (fd_keep_one(fd) < 0)
        _exit(1);
    while (recv(3, &pid, sizeof(pid), 0) == sizeof(pid))
        answer(3, pid);
    for (size_t i = 0; sockets[i]; i++) {
        if (is_same_socket(sockets[i], &then[i]))
            unix_socket_remove(sockets[i]);
    }
    _exit(0);
}

/* ---- the server's side --------------------------------------------------- */

struct keeper *keeper_start(const char *const *sockets, GError **error)
{
    struct keeper *keeper;
    int ends[2];
    pid_t pid;

    g_assert(g_strv_length((char **)sockets) <= KEEPER_MAX_SOCKETS);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 ||
        (pid = fork()) < 0) {
        g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                    "cannot start a process outside the sandbox: %s",
                    g_strerror(errno));
        return NULL;
    }
    if (pid == 0)
        serve(ends[1], sockets);
    close(ends[1]);
    keeper = g_new0(struct keeper, 1);
    pthread_mutex_init(&keeper->lock, NULL);
    keeper->fd = ends[0];
    keeper->pid = pid;
    return keeper;
}

char *keeper_process_name(pid_t pid, void *opaque)
{
    struct keeper *keeper = opaque;
    char name[NAME_SIZE];
    ssize_t n = -1;

    pthread_mutex_lock(&keeper->lock);
    if (send(keeper->fd, &pid, sizeof(pid), MSG_NOSIGNAL) == sizeof(pid))
        n = recv(keeper->fd, name, sizeof(name), 0);
    pthread_mutex_unlock(&keeper->lock);
    return n > 0 ? g_strndup(name, (size_t)n) : NULL;
}

bool keeper_lives(const struct keeper *keeper)
{
    struct pollfd p = { .fd = keeper->fd };

    return poll(&p, 1, 0) == 0;
}

/* Wait for end of file, which the keeper's exit causes: the server's filter
 * does not allow waitpid(2). A keeper that does not run cannot hold up the end.
 */
static void end(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    gint64 last = g_get_monotonic_time() + END_MS * G_TIME_SPAN_MILLISECOND;
    gint64 left = END_MS;

    shutdown(fd, SHUT_WR);
    while (left > 0 && poll(&p, 1, (int)left) < 0 && errno == EINTR)
        left = (last - g_get_monotonic_time()) / G_TIME_SPAN_MILLISECOND;
}

void keeper_free(struct keeper *keeper)
{
    if (!keeper)
        return;
    end(keeper->fd);
    fd_close(&keeper->fd);
    pthread_mutex_destroy(&keeper->lock);
    g_free(keeper);
}
