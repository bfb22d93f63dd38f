/* SPDX-License-Identifier: Apache-2.0
 *
 * server - see server.h: set-up, and the list of connections.
 */
#include "p9/server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "daemon/fd_reserve.h"
#include "p9/server/conn.h"
#include "p9/server/conn_table.h"
#include "p9/server/pool.h"

#define ACCEPT_AGAIN_US  100000 /* retry interval if descriptors run out */
#define WARN_INTERVAL_US (60 * G_USEC_PER_SEC)

static void on_unparked(int verdict, void *parked)
{
    parked_release(parked, verdict);
}

static gboolean fail(GError **error, const char *what)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR, "%s: %s", what,
                g_strerror(errno));
    return FALSE;
}

struct p9_server *p9_server_new(struct ic *ic,
                                const struct p9_server_config *config,
                                GError **error)
{
    const struct p9_profile_options options = { config->overlay_dir,
                                                config->overlay_log };
    void *profile = config->profile->start(ic, &options, error);
    struct p9_server *server;

    if (!profile)
        return NULL;
    server = g_new0(struct p9_server, 1);
    server->ic = ic;
    server->config = *config;
    server->config.overlay_dir = server->config.overlay_log = NULL;
    server->profile = profile;
    server->parked = parked_new();
    server->locks = file_locks_new(ic, server->parked);
    server->buffers = p9_buffers_new();
    server->pool = p9_pool_new(config->threads, p9_conn_run_pooled);
    server->ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    server->conns = g_ptr_array_new();
    ic_set_unparked(ic, on_unparked, server->parked);
    return server;
}

void p9_server_free(struct p9_server *server)
{
    if (!server)
        return;
    ic_set_unparked(server->ic, NULL, NULL);
    p9_pool_free(server->pool);
    g_ptr_array_unref(server->conns);
    file_locks_free(server->locks);
    parked_free(server->parked);
    p9_buffers_free(server->buffers);
    server->config.profile->end(server->profile);
    fd_close(&server->ended_fd);
    g_free(server);
}

/* ---- connections --------------------------------------------------------- */

static void remove_ended(struct p9_server *server)
{
    uint64_t count;

    if (read(server->ended_fd, &count, sizeof(count)) < 0)
        return;
    for (guint i = server->conns->len; i > 0; i--) {
        struct p9_conn *conn = g_ptr_array_index(server->conns, i - 1);

        if (!p9_conn_has_ended(conn))
            continue;
        g_ptr_array_remove_index_fast(server->conns, i - 1);
        p9_conn_free(conn);
    }
}

/* Warn at once and then rate-limited: a client that reconnects repeatedly could
 * fill the log. */
static void warn_refused(struct p9_server *server, const char *why)
{
    int64_t now = g_get_monotonic_time();

    if (now < server->next_warning_us)
        return;
    log_warn(LOG_FS_BACKEND, "connection refused (%u are open): %s",
             server->conns->len, why);
    server->next_warning_us = now + WARN_INTERVAL_US;
}

static void add_conn(struct p9_server *server, int fd)
{
    struct p9_conn *conn = NULL;
    const char *why = NULL;

    if (server->conns->len >= server->config.max_connections)
        why = "--max-connections reached";
    else if (fd_reserve_check_connection(fd) < 0)
        why = "too few file descriptors left";
    if (why)
        close(fd);
    else
        conn = p9_conn_start(server, fd, ++server->next_number);
    if (conn)
        g_ptr_array_add(server->conns, conn);
    else
        warn_refused(server, why ? why : "cannot start a thread");
}

static void accept_one(struct p9_server *server, int listen_fd)
{
    int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);

    if (fd >= 0)
        add_conn(server, fd);
    else if (errno != EINTR && errno != EAGAIN && errno != ECONNABORTED) {
        warn_refused(server, g_strerror(errno));
        g_usleep(ACCEPT_AGAIN_US);
    }
}

static void end_all(struct p9_server *server)
{
    for (guint i = 0; i < server->conns->len; i++)
        p9_conn_free(g_ptr_array_index(server->conns, i));
    g_ptr_array_set_size(server->conns, 0);
}

gboolean p9_server_serve(struct p9_server *server, int fd, bool listens,
                         int stop_fd, GError **error)
{
    struct pollfd fds[] = { { stop_fd, POLLIN, 0 },
                            { server->ended_fd, POLLIN, 0 },
                            { listens ? fd : -1, POLLIN, 0 } };
    gboolean ok = TRUE;

    if (!listens) {
        int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

        if (own < 0)
            return fail(error, "the inherited socket");
        add_conn(server, own);
    }
    while (ok && (listens || server->conns->len > 0)) {
        if (poll(fds, G_N_ELEMENTS(fds), -1) < 0)
            ok = errno == EINTR || fail(error, "poll");
        else if (fds[0].revents)
            break;
        else if (fds[2].revents)
            accept_one(server, fd);
        remove_ended(server);
    }
    end_all(server);
    return ok;
}
