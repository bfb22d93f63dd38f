/* SPDX-License-Identifier: Apache-2.0
 *
 * share_process - see share_process.h.
 */
#include "shim/share_process.h"

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
    REFRESH_MS = 2000, /* a process that refreshes names uses the folder */
};

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

void share_process_pump(const struct share *share, int status)
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
void share_process_mount(const struct share *share, int status)
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

void share_process_unmount(const struct share *share, bool force, int status)
{
    const struct timespec pause = { .tv_nsec = RETRY_MS * 1000 * 1000 };
    int64_t deadline = now_ms() + REFRESH_MS;
    int result;

    prepare_process(status, "stepback-umount");
    while ((result = umount2(share->path, force ? MNT_DETACH : 0)) < 0 &&
           errno == EBUSY && now_ms() < deadline)
        nanosleep(&pause, NULL);
    if (result == 0)
        tell_success();
    if (errno == EBUSY)
        give_up("a process uses it: as its working directory, or with an open "
                "file");
    give_up_because("cannot unmount", share->path, errno);
}

void share_process_refresh(const struct share *share, bool unused,
                           const json_t *names, int status)
{
    int result;

    prepare_process(status, "stepback-names");
    protect_from_oom();
    result = names_refresh(share->path, unused, names);
    if (result < 0)
        give_up_because("cannot look at names in", share->path, -result);
    tell_success();
}
