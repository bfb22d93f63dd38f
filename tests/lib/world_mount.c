/* SPDX-License-Identifier: Apache-2.0
 *
 * world_mount - the real daemon under a real mount, through system calls.
 *
 * For the world "local" the test mounts and the daemon serves that mount, with
 * caches, as in local isolation (world_local.h).
 *
 * The daemon is $STEPBACK_VIRTIOFSD, else stepback-virtiofsd in the build
 * directory of the tests.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "tests/lib/control_client.h"
#include "tests/lib/world_local.h"
#include "tests/lib/world_mount.h"

enum { START_MS = 10000, POLL_US = 2000 };

/* ---- the daemon ---------------------------------------------------------- */

static const char *daemon_path(void)
{
    const char *path = g_getenv("STEPBACK_VIRTIOFSD");

    return path ? path : "./stepback-virtiofsd";
}

/* device: of a mount that exists; -1: the daemon mounts. */
static pid_t spawn(struct world *w, int device)
{
    g_autofree char *mount = device < 0
                                 ? g_strdup_printf("--mount=%s", w->mount)
                                 : g_strdup_printf("--mount-fd=%d", device);
    g_autofree char *board = g_strdup_printf("%d", w->fault_fd);
    const char *options[] = { mount, device < 0 ? "--cache=never" : NULL,
                              NULL };
    const int fds[] = { w->fault_fd, device };
    pid_t pid;

    if (w->fault_fd > 0) /* see fault.h */
        g_setenv("STEPBACK_FAULT_FD", board, TRUE);
    pid = world_spawn(w, daemon_path(), options, fds, G_N_ELEMENTS(fds));
    g_unsetenv("STEPBACK_FAULT_FD");
    return pid;
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
            fd = world_connect(w);
        g_usleep(POLL_US);
    }
    m->client = control_client_new(fd);
    return -1;
}

static void free_mounted(struct mounted *m)
{
    g_clear_pointer(&m->seen, g_hash_table_unref);
    g_free(m);
}

static void end(struct world *w, int signal_number)
{
    struct mounted *m = g_steal_pointer(&w->state);
    int status;

    fd_close(&m->cwd);
    if (w->backend == &world_local && signal_number == SIGTERM)
        world_local_unmount(w);
    kill(m->pid, signal_number);
    g_assert_cmpint(waitpid(m->pid, &status, 0), ==, m->pid);
    control_client_free(m->client);
    umount2(w->mount, MNT_DETACH); /* a killed daemon leaves the mount */
    if (signal_number == SIGTERM) {
        g_assert_true(WIFEXITED(status));
        g_assert_cmpint(WEXITSTATUS(status), ==, 0);
    }
    free_mounted(m);
}

/* Return the wait status of a daemon that has exited, or -1: it has started. */
static int start(struct world *w)
{
    struct mounted *m = g_new0(struct mounted, 1);
    fd_auto int device = w->backend == &world_local ? world_local_mount(w) : -1;
    int status;

    m->cwd = -1;
    m->pid = spawn(w, device);
    fd_close(&device); /* the mount ends with the daemon */
    status = wait_started(w, m);
    if (status == -1) {
        w->state = m;
        return -1;
    }
    umount2(w->mount, MNT_DETACH);
    free_mounted(m);
    return status;
}

bool mount_start(struct world *w)
{
    struct mounted *m;
    json_t *answer;
    int status;

    if (access(daemon_path(), X_OK) < 0 ||
        access("/dev/fuse", R_OK | W_OK) < 0 ||
        (w->backend == &world_local && geteuid() != 0))
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

void mount_stop(struct world *w)
{
    end(w, SIGTERM);
}

void mount_kill(struct world *w)
{
    end(w, SIGKILL);
}

/* ---- the control socket -------------------------------------------------- */

json_t *mount_request(struct world *w, const char *type, json_t *payload,
                      GError **error)
{
    struct mounted *m = w->state;

    return control_client_request(m->client, type, payload, error);
}

json_t *mount_event(struct world *w, const char *type)
{
    struct mounted *f = w->state;

    return control_client_take_event(f->client, type);
}

struct ic *mount_engine(struct world *w)
{
    return NULL;
}

json_t *mount_error_data(struct world *w)
{
    struct mounted *m = w->state;

    return control_client_error_data(m->client);
}

json_t *mount_wait_event(struct world *w, const char *type)
{
    struct mounted *m = w->state;

    return control_client_wait_event(m->client, type);
}

const struct world_backend world_mount = {
    .name = "mount",
    .request = mount_request,
    WORLD_MOUNT_OPERATIONS,
};
