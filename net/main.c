/* SPDX-License-Identifier: Apache-2.0
 *
 * stepback-net - a guest's network, limited by a policy.
 *
 * The supervisor starts it with two sockets: QEMU's stream of frames, and a
 * control channel. The process exits when either is closed: 0; 1 on an error, 2
 * on a wrong command line.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <glib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/errors.h"
#include "common/host_environ.h"
#include "common/log.h"
#include "common/option_words.h"
#include "net/confine.h"
#include "net/control.h"
#include "net/gateway.h"

#define PROGRAM "stepback-net"

struct options {
    int stream_fd, control_fd, ports_fd, names_fd;
    gboolean version;
    char *log_level, *seccomp;
    enum sandbox_action action;
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

static gboolean parse(int argc, char **argv, struct options *options,
                      GError **error)
{
    const GOptionEntry entries[] = {
        { "stream-fd", 0, 0, G_OPTION_ARG_INT, &options->stream_fd,
          "QEMU's stream of frames", "FD" },
        { "control-fd", 0, 0, G_OPTION_ARG_INT, &options->control_fd,
          "the supervisor's control socket", "FD" },
        { "ports-fd", 0, 0, G_OPTION_ARG_INT, &options->ports_fd,
          "the supervisor's channel for sockets of published ports", "FD" },
        { "names-fd", 0, 0, G_OPTION_ARG_INT, &options->names_fd,
          "the channel to stepback-proxy, for connections to names", "FD" },
        { "log-level", 0, 0, G_OPTION_ARG_STRING, &options->log_level,
          "error, warn, info, debug", "LEVEL" },
        { "seccomp", 0, 0, G_OPTION_ARG_STRING, &options->seccomp,
          "reaction to a forbidden system call: kill, log, trap; none for no "
          "filter",
          "ACTION" },
        { "version", 0, 0, G_OPTION_ARG_NONE, &options->version,
          "print the version", NULL },
        { NULL },
    };
    GOptionContext *context = g_option_context_new("- a guest's network");
    gboolean ok;

    g_option_context_add_main_entries(context, entries, NULL);
    ok = option_words_check_flags(entries, argc, argv, false, error) &&
         g_option_context_parse(context, &argc, &argv, error);
    g_option_context_free(context);
    return ok;
}

static gboolean check(struct options *options, GError **error)
{
    enum log_level level = LOG_LEVEL_INFO;

    if (fcntl(options->stream_fd, F_GETFD) < 0 ||
        fcntl(options->control_fd, F_GETFD) < 0 ||
        options->stream_fd == options->control_fd)
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "--stream-fd and --control-fd must be open "
                            "sockets; \"stepback\" starts this program");
    else if (options->log_level && !log_level_parse(options->log_level, &level))
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "--log-level: use error, warn, info or debug");
    else if (options->seccomp &&
             !sandbox_action_parse(options->seccomp, &options->action))
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "--seccomp: use kill, log, trap or none");
    else {
        log_set_level(level);
        return TRUE;
    }
    return FALSE;
}

static gboolean start(struct net *net, const struct options *options,
                      GError **error)
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
    return confine(options->action, error);
}

static int serve(const struct options *options)
{
    g_autoptr(GError) error = NULL;
    struct net net = { 0 };
    int status = 1;

    if (start(&net, options, &error))
        status = run(&net);
    else
        log_error(LOG_SESSION, "%s", error->message);
    control_free(net.control);
    gateway_free(net.gateway);
    return status;
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    struct options options = {
        .stream_fd = -1, .control_fd = -1, .ports_fd = -1, .names_fd = -1
    };
    int status;

    host_environ_restrict();
    signal(SIGPIPE, SIG_IGN);
    if (!parse(argc, argv, &options, &error) ||
        (!options.version && !check(&options, &error))) {
        fprintf(stderr, PROGRAM ": %s\n", error->message);
        status = 2;
    } else if (options.version) {
        status = printf(PROGRAM " " PACKAGE_VERSION "\n") < 0;
    } else {
        status = serve(&options);
    }
    g_free(options.log_level);
    g_free(options.seccomp);
    return status;
}
