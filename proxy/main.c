/* SPDX-License-Identifier: Apache-2.0
 *
 * stepback-proxy - a guest's connections to names, limited by a policy.
 *
 * The supervisor starts it with two sockets: new connections from stepback-net,
 * and a control channel. The process exits when the latter is closed: 0; 1 on
 * an error, 2 on a wrong command line.
 */
#include <glib.h>
#include <seccomp.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/wiped.h"
#include "netbase/confinement.h"
#include "netbase/program.h"
#include "proxy/control.h"
#include "proxy/flow.h"
#include "proxy/intake.h"
#include "proxy/tls_trust.h"

/* Two sockets for each connection, and others; two buffers, and as much for
 * everything else; two TLS sessions and a relay. */
enum {
    FILES = 2 * CONNECTIONS_MAX + 64,
    MEMORY = CONNECTIONS_MAX * 4 * FLOW_MAX +
             INTERCEPTED_MAX * INTERCEPTED_BYTES,
};

struct options {
    int connections_fd, control_fd, trust_fd;
};

struct proxy {
    struct control *control;
    struct poller *poller;
    struct host_routes *routes;
    SSL_CTX *to_servers;
    struct connections *connections;
    int connections_fd;
    struct intake *intake; /* NULL: there is no policy yet */
    GMainLoop *loop;
};

static void on_closed(void *opaque)
{
    struct proxy *proxy = opaque;

    g_main_loop_quit(proxy->loop);
}

/* stepback-net has ended, and so does the guest: the supervisor asks for the
 * last connections, and closes the control channel. */
static void on_intake_closed(void *opaque)
{
    struct proxy *proxy = opaque;

    control_expect_end(proxy->control);
}

/* Connections wait for the first policy, by which they are judged. */
static void on_configured(void *opaque)
{
    struct proxy *proxy = opaque;

    proxy->intake = intake_new(proxy->connections_fd, proxy->connections,
                               on_intake_closed, proxy);
}

/* ---- set-up -------------------------------------------------------------- */

static gboolean enter(enum sandbox_action action, GError **error)
{
    static const int calls[] = {
        SCMP_SYS(epoll_ctl),
        SCMP_SYS(epoll_pwait),
        SCMP_SYS(epoll_wait),
    };
    const struct confinement confinement = {
        .action = action,
        .memory = MEMORY,
        .files = confinement_files(FILES),
        .calls = calls,
        .call_count = G_N_ELEMENTS(calls),
    };

    return confinement_enter(&confinement, error);
}

static gboolean start_tls(struct proxy *proxy, int trust_fd, GError **error)
{
    g_autoptr(GError) empty = NULL;

    if (!tls_trust_begin(error))
        return FALSE;
    if (trust_fd < 0)
        return TRUE;
    proxy->to_servers = tls_trust_load(trust_fd, &empty);
    fd_close(&trust_fd);
    /* Names that are not intercepted need no authorities. */
    if (!proxy->to_servers)
        log_warn(LOG_SESSION, "%s; no name can be intercepted", empty->message);
    return TRUE;
}

static gboolean start(struct proxy *proxy, const struct options *options,
                      enum sandbox_action action, GError **error)
{
    proxy->loop = g_main_loop_new(NULL, FALSE);
    proxy->control = control_new(options->control_fd, on_closed, proxy);
    proxy->poller = poller_new(error);
    if (!proxy->poller)
        return FALSE;
    proxy->routes = host_routes_new(error);
    if (!proxy->routes)
        return FALSE;
    if (!start_tls(proxy, options->trust_fd, error))
        return FALSE;
    proxy->connections = connections_new(
        &(struct connections_world){ proxy->poller, proxy->routes,
                                     proxy->to_servers },
        &control_callbacks, proxy->control, error);
    if (!proxy->connections)
        return FALSE;
    proxy->connections_fd = options->connections_fd;
    control_attach(proxy->control, proxy->connections, on_configured);
    return enter(action, error);
}

static int serve(enum sandbox_action action, void *options)
{
    g_autoptr(GError) error = NULL;
    struct proxy proxy = { 0 };
    int status = 1;

    if (start(&proxy, options, action, &error)) {
        g_main_loop_run(proxy.loop);
        status = 0;
    } else {
        log_error(LOG_SESSION, "%s", error->message);
    }
    intake_free(proxy.intake);
    connections_free(proxy.connections);
    SSL_CTX_free(proxy.to_servers);
    host_routes_free(proxy.routes);
    poller_free(proxy.poller);
    control_free(proxy.control);
    g_main_loop_unref(proxy.loop);
    return status;
}

int main(int argc, char **argv)
{
    struct options options = { -1, -1, -1 };
    const struct program program = {
        .name = "stepback-proxy",
        .purpose = "- a guest's connections to names",
        .fds = { { "connections-fd",
                   "stepback-net's channel for new connections",
                   &options.connections_fd },
                 { "control-fd", "the supervisor's control socket",
                   &options.control_fd },
                 { "trust-fd",
                   "certificates of the authorities of servers (PEM)",
                   &options.trust_fd } },
        .serve = serve,
        .opaque = &options,
    };

    wiped_json();
    return program_main(&program, argc, argv);
}
