/* SPDX-License-Identifier: Apache-2.0
 *
 * mount - see mount.h.
 *
 * libfuse mounts (as root or through fusermount3), unmounts as root, and opens
 * /dev/fuse. A few threads of this module read requests and answer them, with
 * the decoder that serves guests.
 *
 * The kernel may cache names and attributes for a while; the notifier
 * invalidates those that change otherwise than by its own requests
 * (notifier.h).
 *
 * A parked request (parked.h) is copied and handled again from the copy, by one
 * thread at a time, in order of arrival.
 *
 * Unmounting writes back dirty data, which needs a server; so the threads use
 * their own descriptor and end after the unmount. No process may be started in
 * that time (unmounter.h).
 */
#define FUSE_USE_VERSION 312
#include "virtiofs/fuse/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse_log.h>
#include <fuse3/fuse_lowlevel.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "virtiofs/fuse/notifier.h"
#include "virtiofs/fuse/notify_device.h"
#include "virtiofs/fuse/unmounter.h"

#define N_READERS 4

/* A WRITE of 1 MiB with its header, or a READ's reply. */
#define MESSAGE_SIZE ((1u << 20) + 4096)

struct mount {
    struct fuse_server *server;
    int device;
    int ended; /* eventfd: the file system is gone, or the daemon must stop */
    int ready; /* eventfd: parked requests are ready */
    struct parked_queue *parked;
    GMutex replaying;            /* by the thread that handles parked
                                  * requests */
    struct unmounter *unmounter; /* NULL: libfuse can unmount */
    bool unmounted;              /* without libfuse's knowledge */
    struct notifier *notifier;
    atomic_int failed; /* a reader could not start: errno */
};

/* A parked request. */
struct copy {
    uint64_t undos; /* fuse_scratch.undos */
    size_t len;
    char bytes[];
};

/* The events that epoll reports to a reader. */
enum { ON_DEVICE, ON_ENDED, ON_READY };

static void signal_eventfd(int fd)
{
    static const uint64_t one = 1;

    if (write(fd, &one, sizeof(one)) < 0)
        log_error(LOG_FS_BACKEND, "cannot signal an eventfd: %s",
                  g_strerror(errno));
}

static void end_readers(struct mount *mount)
{
    signal_eventfd(mount->ended);
}

static void wake_for_ready(void *opaque)
{
    signal_eventfd(((struct mount *)opaque)->ready);
}

static void answer(struct mount *mount, const char *reply, size_t len)
{
    /* ENOENT: the calling process was killed in the meantime. */
    if (len > 0 && write(mount->device, reply, len) < 0 && errno != ENOENT)
        log_debug(LOG_FS_BACKEND, "cannot reply to the kernel: %s",
                  g_strerror(errno));
}

static int park(struct mount *mount, uint64_t releases,
                const struct fuse_scratch *scratch, const void *request,
                size_t len)
{
    struct copy *copy = g_malloc(sizeof(*copy) + len);
    int r;

    copy->undos = scratch->undos;
    copy->len = len;
    memcpy(copy->bytes, request, len);
    r = (scratch->is_lock ? parked_put_lock : parked_put)(
        mount->parked, releases, scratch->unique, copy, sizeof(*copy) + len);
    if (r < 0)
        g_free(copy);
    return r;
}

/* Handle a request, or reply with this error (0: none). */
static void handle(struct mount *mount, struct fuse_scratch *scratch,
                   char *request, size_t len, char *reply, int error)
{
    struct iovec in = { request, len }, out = { reply, MESSAGE_SIZE };
    uint64_t releases = parked_releases(fuse_server_parked(mount->server));
    size_t n = FUSE_SERVER_PARKED;

    if (error == 0)
        n = fuse_server_handle(mount->server, scratch, &in, 1, &out, 1);
    if (error == 0 && n == FUSE_SERVER_PARKED) {
        error = park(mount, releases, scratch, request, len);
        if (error == 0)
            return;
    }
    if (error < 0)
        n = fuse_server_refuse(mount->server, scratch, &in, 1, &out, 1, error);
    answer(mount, reply, n);
}

/* Handle ready parked requests, unless another thread does. */
static void handle_ready(struct mount *mount, struct fuse_scratch *scratch,
                         char *reply)
{
    struct parked_request again;

    while (parked_has_ready(mount->parked) &&
           g_mutex_trylock(&mount->replaying)) {
        while (parked_take(mount->parked, &again)) {
            g_autofree struct copy *copy = again.data;

            scratch->undos = copy->undos;
            handle(mount, scratch, copy->bytes, copy->len, reply, again.error);
        }
        g_mutex_unlock(&mount->replaying);
    }
}

static void take_ready(struct mount *mount, struct fuse_scratch *scratch,
                       char *reply)
{
    uint64_t count;

    /* Clear the eventfd first: requests that become ready from now on signal
     * again. */
    if (read(mount->ready, &count, sizeof(count)) < 0 && errno != EAGAIN)
        log_error(LOG_FS_BACKEND, "cannot read an eventfd: %s",
                  g_strerror(errno));
    handle_ready(mount, scratch, reply);
}

/* Handle requests until none is pending. Return false if the file system is
 * gone. */
static bool handle_requests(struct mount *mount, struct fuse_scratch *scratch,
                            char *request, char *reply)
{
    for (;;) {
        uint64_t undos = fuse_server_undos(mount->server);
        ssize_t n = read(mount->device, request, MESSAGE_SIZE);

        scratch->undos = undos;
        if (n < 0 && errno == EAGAIN)
            return true;
        if (n < 0 && (errno == EINTR || errno == ENOENT))
            continue;
        if (n <= 0)
            return false;
        handle(mount, scratch, request, (size_t)n, reply, 0);
    }
}

static int make_epoll(const struct mount *mount)
{
    /* Exclusive: one request wakes one reader. */
    struct epoll_event device = { .events = EPOLLIN | EPOLLEXCLUSIVE };
    struct epoll_event ended = { .events = EPOLLIN, .data.u32 = ON_ENDED };
    struct epoll_event ready = { .events = EPOLLIN | EPOLLEXCLUSIVE,
                                 .data.u32 = ON_READY };
    fd_auto int epoll = epoll_create1(EPOLL_CLOEXEC);

    if (epoll < 0 ||
        epoll_ctl(epoll, EPOLL_CTL_ADD, mount->device, &device) != 0 ||
        epoll_ctl(epoll, EPOLL_CTL_ADD, mount->ended, &ended) != 0 ||
        epoll_ctl(epoll, EPOLL_CTL_ADD, mount->ready, &ready) != 0)
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
        atomic_store(&mount->failed, errno);
    while (epoll >= 0 && handle_requests(mount, scratch, request, reply)) {
        int n = epoll_wait(epoll, &event, 1, -1);

        if (n > 0 && event.data.u32 == ON_ENDED)
            break;
        if (n > 0 && event.data.u32 == ON_READY)
            take_ready(mount, scratch, reply);
    }
    end_readers(mount);
    fuse_scratch_free(scratch);
    return NULL;
}

/* The last message of libfuse, which explains a failure. It is quoted in the
 * error and not printed separately. Only this thread calls libfuse. */
static char fuse_message[256] = "no reason given";

G_GNUC_PRINTF(2, 0)
static void keep_message(enum fuse_log_level level, const char *format,
                         va_list args)
{
    vsnprintf(fuse_message, sizeof(fuse_message), format, args);
    g_strchomp(fuse_message);
}

static struct fuse_session *mount_session(const char *dir, GError **error)
{
    static const struct fuse_lowlevel_ops none;
    /* allow_other is for root only: as on the folder itself, only the folder's
     * modes should then restrict other users. */
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
    g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR, "cannot mount on %s: %s",
                dir, fuse_message);
    return NULL;
}

/* Refuse the stale mount of a daemon that was killed. stat(2) may be answered
 * from the kernel's cache, statvfs(2) is not. */
static gboolean check_stale(const char *dir, GError **error)
{
    struct statvfs st;

    if (statvfs(dir, &st) == 0 || errno != ENOTCONN)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                "%s: stale mount of a killed daemon; unmount it with: "
                "fusermount3 -u %s",
                dir, dir);
    return FALSE;
}

static bool open_device(struct mount *mount, int fd)
{
    mount->ended = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    mount->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    mount->device = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return mount->ended >= 0 && mount->ready >= 0 && mount->device >= 0 &&
           fcntl(mount->device, F_SETFL, O_RDWR | O_NONBLOCK) == 0;
}

/* Return whether another process has unmounted it. A different file system may
 * be mounted there by now. */
static bool is_gone(const struct mount *mount)
{
    struct pollfd p = { .fd = mount->device };

    return poll(&p, 1, 0) == 1 && p.revents & POLLERR;
}

/* session: NULL if another process has mounted. */
static void unmount(struct mount *mount, struct fuse_session *session)
{
    if (!session)
        return;
    mount->unmounted = mount->unmounter &&
                       (is_gone(mount) || unmounter_run(mount->unmounter));
    if (!mount->unmounted)
        fuse_session_unmount(session);
}

/* AT_STATX_DONT_SYNC: the query must not send a request to the server. */
static void tell_device(const struct mount *mount, const char *dir)
{
    struct statx st;

    if (statx(AT_FDCWD, dir, AT_STATX_DONT_SYNC, 0, &st) == 0 &&
        st.stx_attributes & STATX_ATTR_MOUNT_ROOT)
        fuse_server_set_mount_dev(mount->server,
                                  makedev(st.stx_dev_major, st.stx_dev_minor));
}

static void run_readers(struct mount *mount, struct fuse_session *session,
                        const char *dir, int stop_fd)
{
    struct pollfd p[2] = { { .fd = mount->ended, .events = POLLIN },
                           { .fd = stop_fd, .events = POLLIN } };
    GThread *readers[N_READERS];

    for (unsigned i = 0; i < N_READERS; i++)
        readers[i] = g_thread_new("fuse-reader", reader_main, mount);
    if (dir)
        tell_device(mount, dir);
    log_info(LOG_FS_BACKEND, "ready: mounted%s%s", dir ? " on " : "",
             dir ? dir : "");
    while (poll(p, 2, -1) < 0 && errno == EINTR)
        ;
    unmount(mount, session);
    notifier_stop(mount->notifier);
    end_readers(mount);
    for (unsigned i = 0; i < N_READERS; i++)
        g_thread_join(readers[i]);
}

/* libfuse treats a session that it has not unmounted as still mounted, and
 * would look for it by its path, where the next daemon's mount may be. Leak
 * such a session until the process ends. */
static void end_session(const struct mount *mount, struct fuse_session *session)
{
    static struct fuse_session *volatile left; /* reachable for LeakSanitizer */

    if (mount->unmounted) {
        left = session;
        close(fuse_session_fd(left));
    } else {
        fuse_session_destroy(session);
    }
}

/* Return 0 or errno. */
static int prepare(struct mount *mount, int fd)
{
    int rc;

    if (!open_device(mount, fd))
        return errno;
    mount->notifier = notifier_new(&notify_device, &mount->device,
                                   mount->server, &rc);
    return mount->notifier ? 0 : -rc;
}

/* Serve until the end. Return 0, or the errno that prevented the start. */
static int serve_device(struct mount *mount, int fd,
                        struct fuse_session *session, const char *dir,
                        int stop_fd)
{
    int error = prepare(mount, fd);

    if (error) {
        if (session)
            fuse_session_unmount(session);
        return error;
    }
    fuse_server_set_stale(mount->server, notifier_tell, mount->notifier);
    mount->parked = parked_queue_new(fuse_server_parked(mount->server),
                                     wake_for_ready, mount, g_free);
    run_readers(mount, session, dir, stop_fd);
    fuse_server_set_stale(mount->server, NULL, NULL);
    notifier_free(mount->notifier);
    parked_queue_free(mount->parked);
    return atomic_load(&mount->failed);
}

static void init_mount(struct mount *mount, struct fuse_server *server)
{
    *mount = (struct mount){
        .server = server, .device = -1, .ended = -1, .ready = -1
    };
    g_mutex_init(&mount->replaying);
}

static void clear_mount(struct mount *mount)
{
    g_mutex_clear(&mount->replaying);
    fd_close(&mount->device);
    fd_close(&mount->ended);
    fd_close(&mount->ready);
}

bool mount_fd_is_fuse(int fd)
{
    enum { MISC_MAJOR = 10, FUSE_MINOR = 229 };
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) &&
           st.st_rdev == makedev(MISC_MAJOR, FUSE_MINOR);
}

gboolean mount_serve_fd(struct fuse_server *server, int fd, int stop_fd,
                        GError **error)
{
    struct mount mount;
    int failed;

    init_mount(&mount, server);
    failed = serve_device(&mount, fd, NULL, NULL, stop_fd);
    if (failed)
        g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                    "cannot serve the mount: %s", g_strerror(failed));
    clear_mount(&mount);
    return failed == 0;
}

gboolean mount_serve(struct fuse_server *server, const char *dir, int stop_fd,
                     GError **error)
{
    struct mount mount;
    struct fuse_session *session;
    int failed;

    if (!check_stale(dir, error) || !(session = mount_session(dir, error)))
        return FALSE;
    init_mount(&mount, server);
    if (geteuid() != 0)
        mount.unmounter = unmounter_start(dir);
    failed = serve_device(&mount, fuse_session_fd(session), session, dir,
                          stop_fd);
    if (failed)
        g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                    "cannot serve %s: %s", dir, g_strerror(failed));
    clear_mount(&mount);
    unmounter_free(mount.unmounter);
    end_session(&mount, session);
    return failed == 0;
}
