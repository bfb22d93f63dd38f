/* SPDX-License-Identifier: Apache-2.0
 *
 * mount - see mount.h.
 *
 * libfuse mounts and unmounts (as root or through fusermount3) and opens
 * /dev/fuse; reading requests and answering them is done here, by a few
 * threads, with the decoder that serves guests.
 *
 * Unmounting writes back what is dirty, which needs a server: so the threads
 * work on a descriptor of their own and end after the unmount.
 */
#define FUSE_USE_VERSION 312
#include "virtiofs/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse_log.h>
#include <fuse3/fuse_lowlevel.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"

#define N_READERS 4

/* A WRITE of 1 MiB with its header, or a READ's answer. */
#define MESSAGE_SIZE ((1u << 20) + 4096)

struct mount {
    struct fuse_server *server;
    int device;
    int ended; /* eventfd: the file system is gone, or we are to end */
};

static void end_readers(struct mount *mount)
{
    static const uint64_t one = 1;

    if (write(mount->ended, &one, sizeof(one)) < 0)
        log_error(LOG_FS_BACKEND, "cannot signal an eventfd: %s",
                  g_strerror(errno));
}

static void answer(struct mount *mount, const char *reply, size_t len)
{
    /* ENOENT: the asker was killed meanwhile. */
    if (len > 0 && write(mount->device, reply, len) < 0 && errno != ENOENT)
        log_debug(LOG_FS_BACKEND, "cannot answer: %s", g_strerror(errno));
}

/* Handle requests until none is there. False: the file system is gone. */
static bool handle_requests(struct mount *mount, struct fuse_scratch *scratch,
                            char *request, char *reply)
{
    for (;;) {
        struct iovec out = { reply, MESSAGE_SIZE };
        ssize_t n = read(mount->device, request, MESSAGE_SIZE);
        struct iovec in = { request, n > 0 ? (size_t)n : 0 };

        if (n < 0 && errno == EAGAIN)
            return true;
        if (n < 0 && (errno == EINTR || errno == ENOENT))
            continue;
        if (n <= 0)
            return false;
        answer(mount, reply,
               fuse_server_handle(mount->server, scratch, &in, 1, &out, 1));
    }
}

static int make_epoll(const struct mount *mount)
{
    /* Exclusive: one request wakes one reader. */
    struct epoll_event device = { .events = EPOLLIN | EPOLLEXCLUSIVE };
    struct epoll_event ended = { .events = EPOLLIN, .data.u32 = 1 };
    fd_auto int epoll = epoll_create1(EPOLL_CLOEXEC);

    if (epoll < 0 ||
        epoll_ctl(epoll, EPOLL_CTL_ADD, mount->device, &device) != 0 ||
        epoll_ctl(epoll, EPOLL_CTL_ADD, mount->ended, &ended) != 0)
        return -1;
    return fd_steal(&epoll);
}

static gpointer reader_main(gpointer data)
{
    struct mount *mount = data;
    struct fuse_scratch *scratch = fuse_scratch_new();
    g_autofree char *request = g_malloc(MESSAGE_SIZE);
    g_autofree char *reply = g_malloc(MESSAGE_SIZE);
    fd_auto int epoll = make_epoll(mount);
    struct epoll_event event = { 0 };

    if (epoll < 0)
        log_error(LOG_FS_BACKEND, "cannot wait for requests: %s",
                  g_strerror(errno));
    while (epoll >= 0 && handle_requests(mount, scratch, request, reply)) {
        int n = epoll_wait(epoll, &event, 1, -1);

        if (n > 0 && event.data.u32 == 1)
            break;
    }
    end_readers(mount);
    fuse_scratch_free(scratch);
    return NULL;
}

/* What libfuse said last: the reason when it fails. It is quoted in the error
 * and not printed beside it. Only this thread calls libfuse. */
static char fuse_message[256] = "no reason given";

static void keep_message(enum fuse_log_level level, const char *format,
                         va_list args)
{
    vsnprintf(fuse_message, sizeof(fuse_message), format, args);
    g_strchomp(fuse_message);
}

static struct fuse_session *mount_session(const char *dir, GError **error)
{
    static const struct fuse_lowlevel_ops none;
    /* Others but root may be kept out only by the folder's own modes, as on
     * the folder itself; that is root's to allow. */
    char *argv[] = { (char *)"stepback-virtiofsd", (char *)"-o",
                     (char *)(geteuid() == 0
                                  ? "default_permissions,fsname=stepback,"
                                    "subtype=stepback,allow_other"
                                  : "default_permissions,fsname=stepback,"
                                    "subtype=stepback"),
                     NULL };
    struct fuse_args args = FUSE_ARGS_INIT(3, argv);
    struct fuse_session *session;

    fuse_set_log_func(keep_message);
    session = fuse_session_new(&args, &none, sizeof(none), NULL);
    fuse_opt_free_args(&args);
    if (session && fuse_session_mount(session, dir) == 0)
        return session;
    if (session)
        fuse_session_destroy(session);
    g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                "cannot mount on %s (%s)", dir, fuse_message);
    return NULL;
}

static bool open_device(struct mount *mount, struct fuse_session *session)
{
    mount->ended = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    mount->device = fcntl(fuse_session_fd(session), F_DUPFD_CLOEXEC, 0);
    return mount->ended >= 0 && mount->device >= 0 &&
           fcntl(mount->device, F_SETFL, O_RDWR | O_NONBLOCK) == 0;
}

static void run_readers(struct mount *mount, struct fuse_session *session,
                        int stop_fd)
{
    struct pollfd p[2] = { { .fd = mount->ended, .events = POLLIN },
                           { .fd = stop_fd, .events = POLLIN } };
    GThread *readers[N_READERS];

    for (unsigned i = 0; i < N_READERS; i++)
        readers[i] = g_thread_new("fuse-reader", reader_main, mount);
    while (poll(p, 2, -1) < 0 && errno == EINTR)
        ;
    fuse_session_unmount(session);
    end_readers(mount);
    for (unsigned i = 0; i < N_READERS; i++)
        g_thread_join(readers[i]);
}

gboolean mount_serve(struct fuse_server *server, const char *dir, int stop_fd,
                     GError **error)
{
    struct mount mount = { .server = server, .device = -1, .ended = -1 };
    struct fuse_session *session = mount_session(dir, error);
    gboolean ok;

    if (!session)
        return FALSE;
    ok = open_device(&mount, session);
    if (ok) {
        run_readers(&mount, session, stop_fd);
    } else {
        g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                    "cannot serve %s: %s", dir, g_strerror(errno));
        fuse_session_unmount(session);
    }
    fd_close(&mount.device);
    fd_close(&mount.ended);
    fuse_session_destroy(session);
    return ok;
}
