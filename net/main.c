/* SPDX-License-Identifier: Apache-2.0
 *
 * stepback-net - a guest's network, limited by a policy.
 *
 * The supervisor starts it with two sockets: QEMU's stream of frames, and a
 * control channel. The process exits when either is closed: 0; 1 on an error, 2
 * on a wrong command line.
 */
#include <errno.h>
#include <glib-unix.h>
#include <glib.h>

#include "common/log.h"
#include "net/confine.h"
#include "net/control.h"
#include "net/gateway.h"
#include "netbase/program.h"

struct options {
    int stream_fd, control_fd, ports_fd, names_fd;
};

struct net {
    struct control *control;
    struct gateway *gateway;
    bool over;
};

static void on_control_closed(void *opaque)
{
    struct net *net = opaque;

    net->over = true;
}

/* ---- the loop ------------------------------------------------------------ */

/* Append GLib's sources (the control channel, timers) to fds, behind those of
 * the gateway. Return their number. */
static guint add_sources(GMainContext *context, GArray *fds, int *timeout,
                         int *ret_priority)
{
    guint first = fds->len;
    int wait, n = 8, room;

    g_main_context_prepare(context, ret_priority);
    do {
        room = n;
        g_array_set_size(fds, first + (guint)room);
        n = g_main_context_query(context, *ret_priority, &wait,
                                 &g_array_index(fds, GPollFD, first), room);
    } while (n > room);
    g_array_set_size(fds, first + (guint)n);
    if (wait >= 0 && (*timeout < 0 || wait < *timeout))
        *timeout = wait;
    return (guint)n;
}

static int go_round(struct net *net, GMainContext *context, GArray *fds)
{
    int timeout = -1, priority, rc;
    guint sources, first;

    g_array_set_size(fds, 0);
    gateway_fill(net->gateway, fds, &timeout);
    sources = add_sources(context, fds, &timeout, &priority);
    first = fds->len - sources;
    rc = g_poll((GPollFD *)(void *)fds->data, fds->len, timeout);
    if (rc < 0 && errno != EINTR)
        return -errno;
    rc = gateway_poll(net->gateway, fds, rc < 0);
    if (g_main_context_check(context, priority,
                             (GPollFD *)(void *)fds->data + first,
                             (int)sources))
        g_main_context_dispatch(context);
    return rc;
}

static int run(struct net *net)
{
    GMainContext *context = g_main_context_default();
    GArray *fds = g_array_new(FALSE, TRUE, sizeof(GPollFD));
    int rc = 0;

    if (!g_main_context_acquire(context))
        rc = -EBUSY;
    while (rc == 0 && !net->over)
        rc = go_round(net, context, fds);
    g_array_unref(fds);
    if (rc == 0 || rc == -EPIPE || rc == -ECONNRESET)
        return 0;
    log_error(LOG_SESSION, "QEMU's network stream: %s", g_strerror(-rc));
    return 1;
}

/* ---- set-up -------------------------------------------------------------- */

static gboolean start(struct net *net, const struct options *options,
                      enum sandbox_action action, GError **error)
{
    g_unix_set_fd_nonblocking(options->stream_fd, TRUE, NULL);
    net->control = control_new(options->control_fd, options->ports_fd,
                               on_control_closed, net);
    net->gateway = gateway_new(options->stream_fd, options->names_fd,
                               confine_files(), control_has_event, net->control,
                               error);
    if (!net->gateway)
        return FALSE;
    control_attach(net->control, net->gateway);
    return confine(action, error);
}

static int serve(enum sandbox_action action, void *options)
{
    g_autoptr(GError) error = NULL;
    struct net net = { 0 };
    int status = 1;

    if (start(&net, options, action, &error))
        status = run(&net);
    if (net.gateway)
        control_tell_left(net.control);
    else
        log_error(LOG_SESSION, "%s", error->message);
    control_free(net.control);
    gateway_free(net.gateway);
    return status;
}

int main(int argc, char **argv)
{
    struct options options = { -1, -1, -1, -1 };
    const struct program program = {
        .name = "stepback-net",
        .purpose = "- a guest's network",
        .fds = { { "stream-fd", "QEMU's stream of frames", &options.stream_fd },
                 { "control-fd", "the supervisor's control socket",
                   &options.control_fd },
                 { "ports-fd",
                   "the supervisor's channel for sockets of published ports",
                   &options.ports_fd },
                 { "names-fd",
                   "the channel to stepback-proxy, for connections to names",
                   &options.names_fd } },
        .serve = serve,
        .opaque = &options,
    };

    return program_main(&program, argc, argv);
}
