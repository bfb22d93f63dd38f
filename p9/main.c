/* SPDX-License-Identifier: Apache-2.0
 *
 * stepback-9pd - serves a folder over 9P2000.L, with undo.
 *
 * The server accepts any number of clients until SIGTERM or SIGINT ends it;
 * with --fd and a connected socket, it serves that one client until the client
 * hangs up. Exit status: 0, 1 on an error, 2 on a wrong command line.
 *
 * Threads: the main thread accepts; for the others see conn.h and pool.h.
 */
#include <config.h>

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/host_environ.h"
#include "common/inherited.h"
#include "daemon/daemon.h"
#include "p9/options.h"
#include "p9/server/tcp.h"

#define PROGRAM "stepback-9pd"

static void *start(struct ic *ic, const struct daemon_places *places,
                   const void *own_options, GError **error)
{
    const struct p9_options *options = own_options;
    struct p9_server_config config = options->server;

    config.overlay_dir = places->store_dir;
    config.overlay_log = options->overlay_is_logs ? places->undo_dir : NULL;
    return p9_server_new(ic, &config, error);
}

static gboolean serve(void *server, const void *own_options, int listen_fd,
                      int stop_fd, GError **error)
{
    const struct p9_options *options = own_options;
    const struct daemon_options *daemon = &options->daemon;

    log_info(LOG_FS_BACKEND, "ready: %s listens on %s", daemon->shared_dir,
             options->listen       ? options->listen
             : daemon->socket_path ? daemon->socket_path
                                   : "the inherited socket");
    return p9_server_serve(server, listen_fd,
                           daemon_options_is_listening(listen_fd), stop_fd,
                           error);
}

static void end(void *server)
{
    p9_server_free(server);
}

/* Open the port before entering the sandbox, which has no network. */
static gboolean open_port(struct p9_options *options, GError **error)
{
    char *where;

    if (!options->listen)
        return TRUE;
    options->daemon.listen_fd = p9_tcp_listen(options->listen, &where, error);
    if (options->daemon.listen_fd < 0)
        return FALSE;
    g_free(options->listen);
    options->listen = where;
    return TRUE;
}

static int serve_options(struct p9_options *options)
{
    const struct daemon_program program = {
        .name = PROGRAM,
        .start = start,
        .serve = serve,
        .end = end,
    };
    g_autoptr(GError) error = NULL;

    if (!open_port(options, &error)) {
        fprintf(stderr, PROGRAM ": %s\n", error->message);
        return EXIT_FAILURE;
    }
    return daemon_run(&program, &options->daemon, options);
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    struct p9_options *options;
    int status;

    if (!inherited_streams_fill())
        return EXIT_FAILURE;
    host_environ_restrict();
    setlocale(LC_CTYPE, ""); /* for GLib's messages about options */
    options = p9_options_parse(argc, argv, &error);
    if (!options) {
        fprintf(stderr, PROGRAM ": %s\n", error->message);
        return 2;
    }
    if (options->daemon.print_version)
        status = printf(PROGRAM " " PACKAGE_VERSION "\n") < 0;
    else
        status = serve_options(options);
    p9_options_free(options);
    return status;
}
