/* SPDX-License-Identifier: Apache-2.0
 *
 * world_9p - the real daemon on a Unix socket, as a backend of world.h.
 *
 * This file has the daemon and its control socket, world_9p_ops.c the
 * operations.
 */
#include "tests/lib/world_9p.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "tests/lib/control_client.h"

enum { START_MS = 10000, POLL_US = 2000, MSIZE = 65536 };

/* A sanitizer makes further system calls at exit. */
#ifdef __SANITIZE_ADDRESS__
#define SECCOMP "--seccomp=none"
#else
#define SECCOMP "--seccomp=kill"
#endif

static char *socket_path(struct world *w)
{
    return g_build_filename(w->base, "9p.sock", NULL);
}

static pid_t spawn(struct world *w)
{
    g_autofree char *socket = socket_path(w);
    const char *options[] = { "--socket-path", socket, "--sandbox=none",
                              SECCOMP, NULL };

    return world_spawn(w, p9_daemon_path(), options, NULL, 0);
}

/* A killed daemon's sockets remain until the new one replaces them. */
static void connect_both(struct world *w, struct world_9p *p)
{
    int64_t end = g_get_monotonic_time() + START_MS * 1000;
    g_autofree char *path = socket_path(w);
    int control = -1, status;

    while (control < 0 || !p->client) {
        if (waitpid(p->pid, &status, WNOHANG) == p->pid)
            g_error("the daemon ended at once: status %#x", status);
        if (g_get_monotonic_time() > end)
            g_error("the daemon does not listen");
        if (!p->client)
            p->client = p9_client_open(path);
        if (control < 0)
            control = world_connect(w);
        g_usleep(POLL_US);
    }
    p->control = control_client_new(control);
}

static void remember_recovery(struct world *w, struct world_9p *p)
{
    json_t *answer = control_client_request(p->control, "status", NULL, NULL);

    g_assert_nonnull(answer);
    json_decref(answer);
    json_decref(w->recovery);
    w->recovery = json_incref(
        control_client_event(p->control, "event.recovery"));
}

static bool p9_start(struct world *w)
{
    struct world_9p *p = g_new0(struct world_9p, 1);

    if (access(p9_daemon_path(), X_OK) < 0) {
        g_free(p);
        return false;
    }
    p->pid = spawn(w);
    p->cwd = P9_ROOT;
    connect_both(w, p);
    g_assert_cmpint(p9_version(p->client, MSIZE, P9_VERSION, NULL, NULL), ==,
                    0);
    g_assert_cmpint(p9_attach(p->client, P9_ROOT, "", getuid()), ==, 0);
    w->state = p;
    remember_recovery(w, p);
    return true;
}

static void end(struct world *w, int signal_number)
{
    struct world_9p *p = g_steal_pointer(&w->state);
    int status;

    kill(p->pid, signal_number);
    g_assert_cmpint(waitpid(p->pid, &status, 0), ==, p->pid);
    if (signal_number == SIGTERM) {
        g_assert_true(WIFEXITED(status));
        g_assert_cmpint(WEXITSTATUS(status), ==, 0);
    }
    control_client_free(p->control);
    p9_client_free(p->client);
    g_free(p);
}

static void p9_stop(struct world *w)
{
    end(w, SIGTERM);
}

static void p9_kill(struct world *w)
{
    end(w, SIGKILL);
}

/* ---- the control socket -------------------------------------------------- */

static json_t *p9_request(struct world *w, const char *type, json_t *payload,
                          GError **error)
{
    struct world_9p *p = w->state;

    return control_client_request(p->control, type, payload, error);
}

static json_t *p9_event(struct world *w, const char *type)
{
    struct world_9p *p = w->state;

    return control_client_take_event(p->control, type);
}

static json_t *p9_wait_event(struct world *w, const char *type)
{
    struct world_9p *p = w->state;

    return control_client_wait_event(p->control, type);
}

static json_t *p9_error_data(struct world *w)
{
    struct world_9p *p = w->state;

    return control_client_error_data(p->control);
}

static struct ic *p9_engine(struct world *w)
{
    return NULL;
}

const struct world_backend world_9p = {
    .name = "9p",
    .start = p9_start,
    .stop = p9_stop,
    .kill = p9_kill,
    .put = world_9p_put,
    .mkdir = world_9p_mkdir,
    .mknod = world_9p_mknod,
    .symlink = world_9p_symlink,
    .link = world_9p_link,
    .unlink = world_9p_unlink,
    .rmdir = world_9p_rmdir,
    .rename = world_9p_rename,
    .chmod = world_9p_chmod,
    .chown = world_9p_chown,
    .utimes = world_9p_utimes,
    .truncate = world_9p_truncate,
    .setxattr = world_9p_setxattr,
    .removexattr = world_9p_removexattr,
    .fallocate = world_9p_fallocate,
    .copy_range = world_9p_copy_range,
    .stat = world_9p_stat,
    .chdir = world_9p_chdir,
    .open = world_9p_open,
    .tmpfile = world_9p_tmpfile,
    .write = world_9p_write,
    .handle_truncate = world_9p_handle_truncate,
    .handle_link = world_9p_handle_link,
    .handle_stat = world_9p_handle_stat,
    .close = world_9p_close,
    .write_as = world_9p_write_as,
    .mmap_write = world_9p_mmap_write,
    .request = p9_request,
    .event = p9_event,
    .wait_event = p9_wait_event,
    .error_data = p9_error_data,
    .engine = p9_engine,
};
