/* SPDX-License-Identifier: Apache-2.0
 *
 * stepback-proxy - a guest's connections to names, limited by a policy.
 *
 * The supervisor starts it with two sockets: new connections from stepback-net,
 * and a control channel. The process exits when either is closed: 0; 1 on an
 * error, 2 on a wrong command line.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "common/errors.h"
#include "common/host_environ.h"
#include "common/log.h"
#include "common/option_words.h"
#include "netbase/confinement.h"
#include "proxy/control.h"
#include "proxy/flow.h"
#include "proxy/intake.h"

#define PROGRAM "stepback-proxy"

/* Two sockets for each connection, and others; two buffers, and as much for
 * everything else. */
enum {
    FILES = 2 * CONNECTIONS_MAX + 64,
    MEMORY = 4 * CONNECTIONS_MAX * FLOW_MAX,
};

struct options {
    int connections_fd, control_fd;
    gboolean version;
    char *log_level, *seccomp;
    enum sandbox_action action;
};

struct proxy {
    struct control *control;
    struct poller *poller;
    struct host_routes *routes;
    struct connections *connections;
    struct intake *intake;
    GMainLoop *loop;
};

static void on_closed(void *opaque)
{
    struct proxy *proxy = opaque;

    g_main_loop_quit(proxy->loop);
}

/* ---- set-up -------------------------------------------------------------- */

static gboolean parse(int argc, char **argv, struct options *options,
                      GError **error)
{
    const GOptionEntry entries[] = {
        { "connections-fd", 0, 0, G_OPTION_ARG_INT, &options->connections_fd,
          "stepback-net's channel for new connections", "FD" },
        { "control-fd", 0, 0, G_OPTION_ARG_INT, &options->control_fd,
          "the supervisor's control socket", "FD" },
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
    GOptionContext *context = g_option_context_new(
        "- a guest's connections to names");
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

    if (fcntl(options->connections_fd, F_GETFD) < 0 ||
        fcntl(options->control_fd, F_GETFD) < 0 ||
        options->connections_fd == options->control_fd)
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "--connections-fd and --control-fd must be open "
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

static gboolean start(struct proxy *proxy, const struct options *options,
                      GError **error)
{
    proxy->loop = g_main_loop_new(NULL, FALSE);
    proxy->control = control_new(options->control_fd, on_closed, proxy);
    proxy->poller = poller_new(error);
    if (!proxy->poller)
        return FALSE;
    proxy->routes = host_routes_new(error);
    if (!proxy->routes)
        return FALSE;
    proxy->connections = connections_new(proxy->poller, proxy->routes,
                                         &control_callbacks, proxy->control);
    control_attach(proxy->control, proxy->connections);
    proxy->intake = intake_new(options->connections_fd, proxy->connections,
                               on_closed, proxy);
    return enter(options->action, error);
}

static int serve(const struct options *options)
{
    g_autoptr(GError) error = NULL;
    struct proxy proxy = { 0 };
    int status = 1;

    if (start(&proxy, options, &error)) {
        g_main_loop_run(proxy.loop);
        status = 0;
    } else {
        log_error(LOG_SESSION, "%s", error->message);
    }
    intake_free(proxy.intake);
    connections_free(proxy.connections);
    host_routes_free(proxy.routes);
    poller_free(proxy.poller);
    control_free(proxy.control);
    g_main_loop_unref(proxy.loop);
    return status;
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    struct options options = { .connections_fd = -1, .control_fd = -1 };
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
