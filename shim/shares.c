/* SPDX-License-Identifier: Apache-2.0
 *
 * shares - see shares.h.
 */
#include "shim/shares.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "shim/names.h"
#include "shim/port_node.h"
#include "shim/pump.h"
#include "shim/wire.h"

enum {
    STATUS_FD = 3,
    START_MS = WIRE_MOUNT_WAIT_MS, /* for the device and the file server */
    RETRY_MS = 10,
};

/* Protocol of the status pipe: one of these bytes; BAD_NEWS is followed by a
 * text. */
enum { GOOD_NEWS = '+', BAD_NEWS = '!', MAX_NEWS = 400 };

/* Both ends of each connection between the kernel's client and the pump. */
struct channel {
    int client_out, pump_in; /* a pipe */
    int client_in, pump_out; /* a socket pair */
};

/* ---- in the pump process ------------------------------------------------- */

static _Noreturn void give_up(const char *text)
{
    char news[MAX_NEWS];
    int len = snprintf(news, sizeof(news), "%c%s", BAD_NEWS, text);
    size_t size = (size_t)len < sizeof(news) ? (size_t)len : sizeof(news) - 1;

    _exit(write(STATUS_FD, news, size) < 0 ? 2 : 1);
}

static _Noreturn void give_up_because(const char *what, const char *name,
                                      int error)
{
    char text[MAX_NEWS];

    snprintf(text, sizeof(text), "%s %s: %s", what, name, strerror(error));
    give_up(text);
}

static _Noreturn void tell_success(void)
{
    static const char good = GOOD_NEWS;

    _exit(write(STATUS_FD, &good, 1) == 1 ? 0 : 2);
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A port stays busy for a moment after it was closed, and has no host while
 * QEMU connects to the file server. */
static int open_port(const char *tag)
{
    const struct timespec pause = { .tv_nsec = RETRY_MS * 1000 * 1000 };
    int64_t deadline = now_ms() + START_MS;
    char name[sizeof(WIRE_9P_PORT_PREFIX) + SHARES_MAX_TAG];
    int port, result;

    snprintf(name, sizeof(name), WIRE_9P_PORT_PREFIX "%s", tag);
    do {
        port = port_node_open(name);
        result = port < 0 ? port : pump_greet(port, deadline);
        if (result == 0)
            return port;
        if (port >= 0)
            close(port);
        nanosleep(&pause, NULL);
    } while ((result == -ENOENT || result == -EBUSY || result == -EPIPE ||
              result == -ENXIO || result == -ENODEV) &&
             now_ms() < deadline);
    give_up_because("no file server at the port", name, -result);
}

static void make_channel(struct channel *channel)
{
    int pipe_ends[2], sockets[2], size = 2 * PUMP_MSIZE;

    if (pipe2(pipe_ends, O_CLOEXEC) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
        give_up_because("cannot make", "a channel", errno);
    *channel = (struct channel){
        .client_out = pipe_ends[1],
        .pump_in = pipe_ends[0],
        .client_in = sockets[0],
        .pump_out = sockets[1],
    };
    /* Message-sized buffers, for speed only. */
    fcntl(channel->pump_in, F_SETPIPE_SZ, PUMP_PIPE_SIZE);
    setsockopt(channel->pump_out, SOL_SOCKET, SO_SNDBUFFORCE, &size,
               sizeof(size));
}

/* access=client: each guest user attaches with its own identity and owns its
 * files. cache=none: the host's edits are visible, and no write is delayed
 * beyond the end of its command. */
static _Noreturn void call_mount(const struct share *share,
                                 const struct channel *channel)
{
    struct guest_mount mount = {
        .tag = share->tag,
        .path = share->path,
        .fstype = WIRE_FSTYPE_9P,
        .read_only = share->read_only,
    };
    char options[200 + GUEST_MAX_PATH], error[MAX_NEWS];

    if (share->again)
        umount2(share->path, MNT_DETACH);
    snprintf(options, sizeof(options),
             "trans=fd,rfdno=%d,wfdno=%d,version=9p2000.L,msize=%d,"
             "access=client,cache=none%s%s",
             channel->client_in, channel->client_out, PUMP_MSIZE,
             *share->aname ? ",aname=" : "", share->aname);
    if (guest_call_mount(&mount, options, error, sizeof(error)) < 0)
        give_up(error);
    tell_success();
}

static void prepare_process(int status, const char *name)
{
    if (dup2(status, STATUS_FD) < 0)
        _exit(2);
    close_range(STATUS_FD + 1, ~0U, 0);
    fcntl(STATUS_FD, F_SETFD, FD_CLOEXEC);
    setsid();
    prctl(PR_SET_NAME, name);
    signal(SIGCHLD, SIG_IGN);
}

/* Protect this process from the OOM killer. */
static void protect_from_oom(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    if (write(fd, "-1000", 5) < 0)
        dprintf(STDERR_FILENO, "stepback-shim: oom_score_adj: %s\n",
                strerror(errno));
    close(fd);
}

static const char *const ends[] = {
    [PUMP_UNMOUNTED] = "it was unmounted in the guest",
    [PUMP_HUNG_UP] = "the file server hung up",
    [PUMP_GARBLED] = "the file server sent an invalid message",
    [PUMP_ASKED] = "its carrier process was asked to end",
    [PUMP_FAILED] = "the port failed",
};

static _Noreturn void run_pump(const struct share *share, int status)
{
    struct channel channel;
    sigset_t none;
    int port;
    pid_t pid;

    prepare_process(status, "stepback-9p");
    pump_catch_term();
    protect_from_oom();
    port = open_port(share->tag);
    make_channel(&channel);
    pid = fork();
    if (pid == 0) {
        close(port);
        close(channel.pump_in);
        close(channel.pump_out);
        call_mount(share, &channel);
    }
    if (pid < 0)
        give_up_because("cannot start", "a process", errno);
    close(channel.client_out);
    close(channel.client_in);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    give_up(ends[pump_run(port, channel.pump_in, channel.pump_out)]);
}

/* ---- in the other processes ---------------------------------------------- */

/* The device may not have appeared yet: mount(2) does not know the tag. */
static _Noreturn void run_mount(const struct share *share, int status)
{
    const struct timespec pause = { .tv_nsec = RETRY_MS * 1000 * 1000 };
    const struct guest_mount mount = {
        .tag = share->tag,
        .path = share->path,
        .fstype = WIRE_DEFAULT_FSTYPE,
        .read_only = share->read_only,
    };
    int64_t deadline = now_ms() + START_MS;
    char error[MAX_NEWS];
    int result;

    prepare_process(status, "stepback-mount");
    while ((result = guest_call_mount(&mount, NULL, error, sizeof(error))) ==
               -EINVAL &&
           now_ms() < deadline)
        nanosleep(&pause, NULL);
    if (result < 0)
        give_up(error);
    tell_success();
}

static _Noreturn void run_unmount(const struct share *share, bool force,
                                  int status)
{
    prepare_process(status, "stepback-umount");
    if (umount2(share->path, force ? MNT_DETACH : 0) == 0)
        tell_success();
    if (errno == EBUSY)
        give_up("a process uses it: as its working directory, or with an open "
                "file");
    give_up_because("cannot unmount", share->path, errno);
}

static _Noreturn void run_refresh(const struct share *share, bool unused,
                                  const json_t *names, int status)
{
    int result;

    prepare_process(status, "stepback-names");
    result = names_refresh(share->path, unused, names);
    if (result < 0)
        give_up_because("cannot open", share->path, -result);
    tell_success();
}

/* ---- in the shim --------------------------------------------------------- */

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
        run_pump(share, fd);
    else if (pid == 0)
        run_mount(share, fd);
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
        run_unmount(share, force, fd);
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
        run_refresh(share, unused, names, fd);
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
        return SHARES_REFRESHED;
    }
    if (fd == share->leaving)
        return good ? note_left(shares, share) : note_kept(share);
    if (!good)
        return note_end(shares, share);
    share->mounted = share->again = true;
    return SHARES_MOUNTED;
}
