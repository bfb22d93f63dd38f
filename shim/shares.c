/* SPDX-License-Identifier: Apache-2.0
 *
 * shares - see shares.h.
 */
#include "shim/shares.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim/share_process.h"
#include "shim/wire.h"

static struct share *find(struct shares *shares, const char *tag)
{
    for (size_t i = 0; i < shares->count; i++) {
        if (strcmp(shares->list[i].tag, tag) == 0)
            return &shares->list[i];
    }
    return NULL;
}

/* Check the request; share: the existing share, or NULL. */
static bool check(const struct shares *shares, const struct share *share,
                  const struct guest_mount *mount, char *error, size_t size)
{
    if (strcmp(mount->fstype, WIRE_DEFAULT_FSTYPE) != 0 &&
        strcmp(mount->fstype, WIRE_FSTYPE_9P) != 0)
        snprintf(error, size, "unknown file system type");
    else if (strlen(mount->tag) > SHARES_MAX_TAG ||
             strlen(mount->path) >= GUEST_MAX_PATH ||
             strlen(mount->aname) >= GUEST_MAX_PATH ||
             strchr(mount->aname, ','))
        snprintf(error, size, "the tag, the path or the aname is invalid");
    else if (share && (share->mounted || share->status >= 0))
        snprintf(error, size, "the share is already mounted");
    else if (share && strcmp(share->path, mount->path) != 0)
        snprintf(error, size, "the share was previously mounted on %s",
                 share->path);
    else if (!share && shares->count == SHARES_MAX)
        snprintf(error, size, "too many mounts");
    else
        return true;
    return false;
}

/* Return the share for a request: a new one, or one that has lost its
 * connection. */
static struct share *prepare_share(struct shares *shares,
                                   const struct guest_mount *mount, char *error,
                                   size_t size)
{
    struct share *share = find(shares, mount->tag);

    if (!check(shares, share, mount, error, size))
        return NULL;
    if (!share) {
        share = &shares->list[shares->count++];
        *share = (struct share){ .status = -1,
                                 .leaving = -1,
                                 .refreshing = -1 };
        strcpy(share->tag, mount->tag);
        strcpy(share->path, mount->path);
    }
    share->is_9p = strcmp(mount->fstype, WIRE_FSTYPE_9P) == 0;
    share->read_only = mount->read_only;
    strcpy(share->aname, mount->aname);
    return share;
}

/* Make the pipe of a process, and fork. Return as fork(2), in the parent with
 * the read end in *ret_fd; or -1 with the reason in error. */
static pid_t start_process(int *ret_fd, char *error, size_t size)
{
    int pipe_ends[2];
    pid_t pid;

    if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) < 0) {
        snprintf(error, size, "cannot make a pipe: %s", strerror(errno));
        return -1;
    }
    pid = fork();
    if (pid < 0)
        snprintf(error, size, "cannot start a process: %s", strerror(errno));
    *ret_fd = pid == 0 ? pipe_ends[1] : pipe_ends[0];
    if (pid != 0)
        close(pipe_ends[1]);
    if (pid < 0)
        close(pipe_ends[0]);
    return pid;
}

bool shares_mount(struct shares *shares, const struct guest_mount *mount,
                  char *error, size_t size)
{
    struct share *share = prepare_share(shares, mount, error, size);
    pid_t pid;
    int fd;

    if (!share)
        return false;
    pid = start_process(&fd, error, size);
    if (pid == 0 && share->is_9p)
        share_process_pump(share, fd);
    else if (pid == 0)
        share_process_mount(share, fd);
    if (pid > 0)
        share->status = fd;
    return pid > 0;
}

bool shares_unmount(struct shares *shares, const char *tag, bool force,
                    char *error, size_t size)
{
    struct share *share = find(shares, tag);
    pid_t pid;
    int fd;

    if (!share || !share->mounted || share->leaving >= 0) {
        snprintf(error, size, "the share is not mounted, or being unmounted");
        return false;
    }
    pid = start_process(&fd, error, size);
    if (pid == 0)
        share_process_unmount(share, force, fd);
    if (pid > 0)
        share->leaving = fd;
    return pid > 0;
}

bool shares_refresh(struct shares *shares, const char *tag, int64_t id,
                    bool unused, const json_t *names, char *error, size_t size)
{
    struct share *share = find(shares, tag);
    pid_t pid;
    int fd;

    if (!share || !share->mounted || share->refreshing >= 0) {
        snprintf(error, size, "the share is not mounted, or being refreshed");
        return false;
    }
    pid = start_process(&fd, error, size);
    if (pid == 0)
        share_process_refresh(share, unused, names, fd);
    if (pid > 0) {
        share->refreshing = fd;
        share->refresh_id = id;
    }
    return pid > 0;
}

size_t shares_poll(const struct shares *shares, struct pollfd *fds)
{
    size_t count = 0;

    for (size_t i = 0; i < shares->count; i++) {
        const struct share *share = &shares->list[i];

        if (share->status >= 0)
            fds[count++] = (struct pollfd){ share->status, POLLIN, 0 };
        if (share->leaving >= 0)
            fds[count++] = (struct pollfd){ share->leaving, POLLIN, 0 };
        if (share->refreshing >= 0)
            fds[count++] = (struct pollfd){ share->refreshing, POLLIN, 0 };
    }
    return count;
}

static void close_pipe(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void forget(struct shares *shares, struct share *share)
{
    close_pipe(&share->refreshing);
    *share = shares->list[--shares->count];
}

/* The process that mounts, or the pump, has ended. Not news: the end of a
 * process that has mounted a virtio-fs share, and of a pump whose mount is on
 * request being removed. */
static enum shares_news note_end(struct shares *shares, struct share *share)
{
    bool mounted = share->mounted;

    close_pipe(&share->status);
    if (mounted && (!share->is_9p || share->leaving >= 0))
        return SHARES_NONE;
    share->mounted = false;
    if (!share->again)
        forget(shares, share);
    return mounted ? SHARES_UNMOUNTED : SHARES_REFUSED;
}

static enum shares_news note_left(struct shares *shares, struct share *share)
{
    close_pipe(&share->leaving);
    close_pipe(&share->status);
    forget(shares, share);
    return SHARES_LEFT;
}

static enum shares_news note_kept(struct share *share)
{
    close_pipe(&share->leaving);
    if (share->is_9p && share->status < 0)
        share->mounted = false;
    return SHARES_KEPT;
}

static struct share *find_pipe(struct shares *shares, int fd)
{
    for (size_t i = 0; i < shares->count; i++) {
        struct share *share = &shares->list[i];

        if (share->status == fd || share->leaving == fd ||
            share->refreshing == fd)
            return share;
    }
    return NULL;
}

enum shares_news shares_take_news(struct shares *shares, int fd,
                                  struct share *ret_share, char *text,
                                  size_t size)
{
    struct share *share;
    char news[MAX_NEWS + 1];
    ssize_t got;
    bool good;

    share = find_pipe(shares, fd);
    if (!share)
        return SHARES_NONE;
    *ret_share = *share;
    got = read(fd, news, MAX_NEWS);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return SHARES_NONE;
    good = got > 0 && news[0] == GOOD_NEWS;
    news[got > 0 ? got : 0] = '\0';
    snprintf(text, size, "%s",
             got > 1 ? news + 1 : "its carrier process was killed");
    if (fd == share->refreshing) {
        close_pipe(&share->refreshing);
        return good ? SHARES_REFRESHED : SHARES_STALE;
    }
    if (fd == share->leaving)
        return good ? note_left(shares, share) : note_kept(share);
    if (!good)
        return note_end(shares, share);
    share->mounted = share->again = true;
    return SHARES_MOUNTED;
}
