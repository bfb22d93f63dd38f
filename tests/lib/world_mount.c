/* SPDX-License-Identifier: Apache-2.0
 *
 * world_mount - the real daemon under a real mount, through system calls.
 *
 * The daemon is $STEPBACK_VIRTIOFSD, else stepback-virtiofsd in the build
 * directory of the tests.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "tests/lib/control_client.h"
#include "tests/lib/world_mount.h"

enum { START_MS = 10000, POLL_US = 2000 };

/* ---- the daemon ---------------------------------------------------------- */

static char *socket_path(struct world *w)
{
    return g_build_filename(w->base, "control.sock", NULL);
}

/* Runs in the daemon's process, see fault.h. */
static void pass_fault_fd(int fd)
{
    char text[16];

    if (fd <= 0)
        return;
    snprintf(text, sizeof(text), "%d", fd);
    fcntl(fd, F_SETFD, 0);
    setenv("STEPBACK_FAULT_FD", text, 1);
}

static const char *daemon_path(void)
{
    const char *path = g_getenv("STEPBACK_VIRTIOFSD");

    return path ? path : "./stepback-virtiofsd";
}

static pid_t spawn(struct world *w)
{
    g_autofree char *socket = socket_path(w);
    const char *daemon = daemon_path();
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pass_fault_fd(w->fault_fd);
        execl(daemon, daemon, "--allow-suid", "--allow-devices", "--shared-dir",
              w->share, "--undo-dir", w->undo_dir, "--interceptor-socket",
              socket, "--mount", w->mount, "--cache", "never", "--log-level",
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

/* Return the daemon's exit status, or -1: it runs and accepts requests. */
static int wait_started(struct world *w, struct mounted *m)
{
    int64_t end = g_get_monotonic_time() + START_MS * 1000;
    int fd = -1, status;

    while (fd < 0 || !is_mounted(w)) {
        if (waitpid(m->pid, &status, WNOHANG) == m->pid) {
            fd_close(&fd);
            return status;
        }
        if (g_get_monotonic_time() > end)
            g_error("the daemon does not mount");
        if (fd < 0)
            fd = connect_control(w);
        g_usleep(POLL_US);
    }
    m->client = control_client_new(fd);
    return -1;
}

static void end(struct world *w, int signal_number)
{
    struct mounted *m = g_steal_pointer(&w->state);
    int status;

    fd_close(&m->cwd);
    kill(m->pid, signal_number);
    g_assert_cmpint(waitpid(m->pid, &status, 0), ==, m->pid);
    control_client_free(m->client);
    umount2(w->mount, MNT_DETACH); /* a killed daemon leaves the mount */
    if (signal_number == SIGTERM) {
        g_assert_true(WIFEXITED(status));
        g_assert_cmpint(WEXITSTATUS(status), ==, 0);
    }
    g_free(m);
}

/* Return the wait status of a daemon that has exited, or -1: it has started. */
static int start(struct world *w)
{
    struct mounted *m = g_new0(struct mounted, 1);
    int status;

    m->cwd = -1;
    m->pid = spawn(w);
    status = wait_started(w, m);
    if (status == -1) {
        w->state = m;
        return -1;
    }
    umount2(w->mount, MNT_DETACH);
    g_free(m);
    return status;
}

static bool mount_start(struct world *w)
{
    struct mounted *m;
    json_t *answer;
    int status;

    if (access(daemon_path(), X_OK) < 0 || access("/dev/fuse", R_OK | W_OK) < 0)
        return false;
    status = start(w);
    if (status != -1)
        g_error("the daemon ended at once: status %#x", status);
    m = w->state;
    answer = control_client_request(m->client, "status", NULL, NULL);
    g_assert_nonnull(answer);
    json_decref(answer);
    json_decref(w->recovery);
    w->recovery = json_incref(
        control_client_event(m->client, "event.recovery"));
    return true;
}

bool world_mount_try_start(struct world *w, bool may_refuse)
{
    int status = start(w);

    if (status == -1)
        return true;
    if (may_refuse && WIFEXITED(status) && WEXITSTATUS(status) == 1)
        return false;
    g_assert_true(WIFSIGNALED(status));
    g_assert_cmpint(WTERMSIG(status), ==, SIGKILL);
    return false;
}

static void mount_stop(struct world *w)
{
    end(w, SIGTERM);
}

static void mount_kill(struct world *w)
{
    end(w, SIGKILL);
}

/* ---- the control socket -------------------------------------------------- */

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
