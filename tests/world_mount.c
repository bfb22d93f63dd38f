/* SPDX-License-Identifier: Apache-2.0
 *
 * world_mount - the real daemon under a real mount, through system calls.
 *
 * The daemon is $STEPBACK_VIRTIOFSD, else stepback-virtiofsd of the build
 * folder that the tests run in.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/fd.h"
#include "tests/control_client.h"
#include "tests/world.h"

enum { START_TRIES = 1000, POLL_US = 10000 };

struct mounted {
    pid_t pid;
    struct control_client *client;
    int cwd; /* or -1: the root */
};

static char *at(struct world *w, const char *path)
{
    struct mounted *m = w->state;

    if (m->cwd >= 0)
        return g_strdup_printf("/proc/self/fd/%d/%s", m->cwd, path);
    return g_build_filename(w->mount, path, NULL);
}

#define RESULT(call) ((call) < 0 ? -errno : 0)

/* ---- the daemon ---------------------------------------------------------- */

static char *socket_path(struct world *w)
{
    return g_build_filename(w->base, "control.sock", NULL);
}

static pid_t spawn(struct world *w, const char *daemon)
{
    g_autofree char *socket = socket_path(w);
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(daemon, daemon, "--shared-dir", w->share, "--undo-dir",
              w->undo_dir, "--interceptor-socket", socket, "--mount", w->mount,
              "--cache", "never", "--log-level",
              g_test_verbose() ? "debug" : "error", NULL);
        _exit(127);
    }
    return pid;
}

static int connect_control(struct world *w)
{
    g_autofree char *path = socket_path(w);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    fd_auto int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return -errno;
    return fd_steal(&fd);
}

static bool is_mounted(struct world *w)
{
    struct stat above, st;

    return stat(w->base, &above) == 0 && stat(w->mount, &st) == 0 &&
           st.st_dev != above.st_dev;
}

static void wait_started(struct world *w, struct mounted *m)
{
    int fd = -1;

    for (int i = 0; i < START_TRIES && (fd < 0 || !is_mounted(w)); i++) {
        int status;

        if (waitpid(m->pid, &status, WNOHANG) == m->pid)
            g_error("the daemon ended at once: status %#x", status);
        if (fd < 0)
            fd = connect_control(w);
        g_usleep(POLL_US);
    }
    g_assert_true(is_mounted(w));
    g_assert_cmpint(fd, >=, 0);
    m->client = control_client_new(fd);
}

static bool mount_start(struct world *w)
{
    const char *daemon = g_getenv("STEPBACK_VIRTIOFSD");
    struct mounted *m;
    json_t *status;

    if (!daemon)
        daemon = "./stepback-virtiofsd";
    if (access(daemon, X_OK) < 0 || access("/dev/fuse", R_OK | W_OK) < 0)
        return false;
    m = g_new0(struct mounted, 1);
    m->cwd = -1;
    m->pid = spawn(w, daemon);
    wait_started(w, m);
    w->state = m;
    status = control_client_request(m->client, "status", NULL, NULL);
    g_assert_nonnull(status);
    json_decref(status);
    json_decref(w->recovery);
    w->recovery = json_incref(
        control_client_event(m->client, "event.recovery"));
    return true;
}

static void end(struct world *w, int signal_number)
{
    struct mounted *m = g_steal_pointer(&w->state);
    int status;

    fd_close(&m->cwd);
    kill(m->pid, signal_number);
    g_assert_cmpint(waitpid(m->pid, &status, 0), ==, m->pid);
    control_client_free(m->client);
    umount2(w->mount, MNT_DETACH); /* what a killed daemon leaves */
    if (signal_number == SIGTERM) {
        g_assert_true(WIFEXITED(status));
        g_assert_cmpint(WEXITSTATUS(status), ==, 0);
    }
    g_free(m);
}

static void mount_stop(struct world *w)
{
    end(w, SIGTERM);
}

static void mount_kill(struct world *w)
{
    end(w, SIGKILL);
}

/* ---- operations ---------------------------------------------------------- */

/* What is written to a node goes nowhere, and may wait there. */
static bool is_file(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

static int mount_put(struct world *w, const char *path, int flags,
                     const void *data, size_t len, off_t offset)
{
    g_autofree char *full = at(w, path);
    fd_auto int fd = open(full, flags | O_RDWR | O_CLOEXEC | O_NONBLOCK, 0644);
    ssize_t n;

    if (fd < 0)
        return -errno;
    if (!is_file(fd))
        return -ENXIO;
    if (len == 0)
        return 0;
    n = flags & O_APPEND ? write(fd, data, len) : pwrite(fd, data, len, offset);
    return n < 0 ? -errno : n == (ssize_t)len ? 0 : -EIO;
}

static int mount_mkdir(struct world *w, const char *path, mode_t mode)
{
    g_autofree char *full = at(w, path);

    return RESULT(mkdir(full, mode));
}

static int mount_mknod(struct world *w, const char *path, mode_t mode,
                       dev_t dev)
{
    g_autofree char *full = at(w, path);

    return RESULT(mknod(full, mode, dev));
}

static int mount_symlink(struct world *w, const char *target, const char *path)
{
    g_autofree char *full = at(w, path);

    return RESULT(symlink(target, full));
}

static int mount_link(struct world *w, const char *from, const char *path)
{
    g_autofree char *full_from = at(w, from), *full = at(w, path);

    return RESULT(link(full_from, full));
}

static int mount_unlink(struct world *w, const char *path)
{
    g_autofree char *full = at(w, path);

    return RESULT(unlink(full));
}

static int mount_rmdir(struct world *w, const char *path)
{
    g_autofree char *full = at(w, path);

    return RESULT(rmdir(full));
}

static int mount_rename(struct world *w, const char *from, const char *to,
                        unsigned flags)
{
    g_autofree char *full_from = at(w, from), *full_to = at(w, to);
    struct stat st;
    int rc = RESULT(renameat2(AT_FDCWD, full_from, AT_FDCWD, full_to, flags));

    if (rc != -ESTALE)
        return rc;
    /* A directory that undo has put elsewhere: while it renames, the kernel
     * cannot take back where it thought that to be. Programs look first. */
    if (lstat(full_from, &st) < 0)
        return -errno;
    if (lstat(full_to, &st) < 0 && errno != ENOENT)
        return -errno;
    return RESULT(renameat2(AT_FDCWD, full_from, AT_FDCWD, full_to, flags));
}

static int mount_chmod(struct world *w, const char *path, mode_t mode)
{
    g_autofree char *full = at(w, path);

    return RESULT(chmod(full, mode));
}

static int mount_chown(struct world *w, const char *path, uid_t uid, gid_t gid)
{
    g_autofree char *full = at(w, path);

    return RESULT(lchown(full, uid, gid));
}

static int mount_utimes(struct world *w, const char *path,
                        const struct timespec times[2])
{
    g_autofree char *full = at(w, path);

    return RESULT(utimensat(AT_FDCWD, full, times, AT_SYMLINK_NOFOLLOW));
}

static int mount_truncate(struct world *w, const char *path, off_t size)
{
    g_autofree char *full = at(w, path);

    return RESULT(truncate(full, size));
}

static int mount_setxattr(struct world *w, const char *path, const char *name,
                          const void *value, size_t len)
{
    g_autofree char *full = at(w, path);

    return RESULT(lsetxattr(full, name, value, len, 0));
}

static int mount_removexattr(struct world *w, const char *path,
                             const char *name)
{
    g_autofree char *full = at(w, path);

    return RESULT(lremovexattr(full, name));
}

static int mount_fallocate(struct world *w, const char *path, int mode,
                           off_t offset, off_t len)
{
    g_autofree char *full = at(w, path);
    fd_auto int fd = open(full, O_RDWR | O_CLOEXEC | O_NONBLOCK);

    return fd < 0 ? -errno : RESULT(fallocate(fd, mode, offset, len));
}

static int mount_copy_range(struct world *w, const char *from, const char *to,
                            off_t from_offset, off_t to_offset, size_t len)
{
    g_autofree char *full_from = at(w, from), *full_to = at(w, to);
    fd_auto int in = open(full_from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    fd_auto int out = open(full_to, O_RDWR | O_CLOEXEC | O_NONBLOCK);

    if (in < 0 || out < 0)
        return -errno;
    return RESULT(copy_file_range(in, &from_offset, out, &to_offset, len, 0));
}

static int mount_stat(struct world *w, const char *path, struct stat *ret_stat)
{
    g_autofree char *full = at(w, path);

    return RESULT(lstat(full, ret_stat));
}

static int mount_chdir(struct world *w, const char *name)
{
    struct mounted *m = w->state;
    g_autofree char *full = name ? at(w, name) : NULL;
    fd_auto int fd = name ? open(full, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

    if (name && fd < 0)
        return -errno;
    fd_close(&m->cwd);
    m->cwd = fd_steal(&fd);
    return 0;
}

/* A handle is an fd + 1: NULL is an error. */
static void *to_handle(int fd)
{
    return fd < 0 ? NULL : GINT_TO_POINTER(fd + 1);
}

static int to_fd(void *handle)
{
    return GPOINTER_TO_INT(handle) - 1;
}

static void *mount_open(struct world *w, const char *path, int flags)
{
    g_autofree char *full = at(w, path);

    return to_handle(open(full, flags | O_CLOEXEC | O_NONBLOCK));
}

static void *mount_tmpfile(struct world *w, const char *dir, int flags)
{
    g_autofree char *full = at(w, dir);

    return to_handle(open(full, flags | O_TMPFILE | O_CLOEXEC, 0640));
}

static int mount_write(struct world *w, void *handle, const void *data,
                       size_t len, off_t offset)
{
    return RESULT(pwrite(to_fd(handle), data, len, offset));
}

static int mount_handle_truncate(G_GNUC_UNUSED struct world *w, void *handle,
                                 off_t size)
{
    return RESULT(ftruncate(to_fd(handle), size));
}

static int mount_handle_link(struct world *w, void *handle, const char *path)
{
    g_autofree char *full = at(w, path);
    g_autofree char *from = g_strdup_printf("/proc/self/fd/%d", to_fd(handle));

    return RESULT(linkat(AT_FDCWD, from, AT_FDCWD, full, AT_SYMLINK_FOLLOW));
}

/* In a process of its own, which gives up its rights. */
static int mount_write_as(struct world *w, const char *path, uid_t uid,
                          const void *data, size_t len, off_t offset)
{
    g_autofree char *full = at(w, path);
    fd_auto int fd = open(full, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    int status;
    pid_t pid;

    if (fd < 0)
        return -errno;
    if (!is_file(fd))
        return -ENXIO;
    pid = fork();
    if (pid == 0) {
        if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
            setresuid(uid, uid, uid) < 0)
            _exit(errno);
        _exit(pwrite(fd, data, len, offset) < 0 ? errno : 0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -errno;
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

static int mount_mmap_write(struct world *w, const char *path, const void *data,
                            size_t len, off_t offset)
{
    g_autofree char *full = at(w, path);
    fd_auto int fd = open(full, O_RDWR | O_CLOEXEC);
    size_t size = len + (size_t)offset;
    char *map;
    int rc;

    if (fd < 0)
        return -errno;
    map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return -errno;
    memcpy(map + offset, data, len);
    rc = RESULT(msync(map, size, MS_SYNC));
    munmap(map, size);
    return rc;
}

static int mount_handle_stat(struct world *w, void *handle,
                             struct stat *ret_stat)
{
    return RESULT(fstat(to_fd(handle), ret_stat));
}

static void mount_close(struct world *w, void *handle)
{
    close(to_fd(handle));
}

static json_t *mount_request(struct world *w, const char *type, json_t *payload,
                             GError **error)
{
    struct mounted *m = w->state;

    return control_client_request(m->client, type, payload, error);
}

static json_t *mount_event(struct world *w, const char *type)
{
    struct mounted *f = w->state;

    return control_client_take_event(f->client, type);
}

static struct ic *mount_engine(struct world *w)
{
    return NULL;
}

static json_t *mount_error_data(struct world *w)
{
    struct mounted *m = w->state;

    return control_client_error_data(m->client);
}

static json_t *mount_wait_event(struct world *w, const char *type)
{
    struct mounted *m = w->state;

    return control_client_wait_event(m->client, type);
}

const struct world_backend world_mount = {
    .name = "mount",
    .start = mount_start,
    .stop = mount_stop,
    .kill = mount_kill,
    .put = mount_put,
    .mkdir = mount_mkdir,
    .mknod = mount_mknod,
    .symlink = mount_symlink,
    .link = mount_link,
    .unlink = mount_unlink,
    .rmdir = mount_rmdir,
    .rename = mount_rename,
    .chmod = mount_chmod,
    .chown = mount_chown,
    .utimes = mount_utimes,
    .truncate = mount_truncate,
    .setxattr = mount_setxattr,
    .removexattr = mount_removexattr,
    .fallocate = mount_fallocate,
    .copy_range = mount_copy_range,
    .stat = mount_stat,
    .chdir = mount_chdir,
    .open = mount_open,
    .tmpfile = mount_tmpfile,
    .write = mount_write,
    .handle_truncate = mount_handle_truncate,
    .handle_link = mount_handle_link,
    .write_as = mount_write_as,
    .mmap_write = mount_mmap_write,
    .handle_stat = mount_handle_stat,
    .close = mount_close,
    .request = mount_request,
    .event = mount_event,
    .wait_event = mount_wait_event,
    .error_data = mount_error_data,
    .engine = mount_engine,
};
