/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon - the life of a file server, from its command line to its exit.
 *
 * The common part of every server: create the sockets, start a keeper outside,
 * enter the sandbox, open the folder and its undo log, serve the control
 * protocol, and exit on SIGTERM, SIGINT and SIGHUP. The program provides the
 * part that serves its clients.
 *
 * Threads: the caller's thread serves; one waits for signals; the undo engine
 * has its own.
 */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

#include "daemon/options.h"

/* Current paths: inside the sandbox, paths differ. */
struct daemon_places {
    const char *undo_dir;  /* the undo log, or NULL */
    const char *store_dir; /* options->sandbox.store_dir, or NULL */
};

struct daemon_program {
    const char *name;
    bool human;    /* log for humans even without a terminal */
    bool notifies; /* the server uses ic_set_stale() */

    /* start() and serve() get the program's own options. start() creates the
     * server for the folder, before the control protocol is served; NULL and
     * error on failure. places is borrowed for the call. */
    void *(*start)(struct ic *ic, const struct daemon_places *places,
                   const void *options, GError **error);

    /* Inside the sandbox: serve until no work is left or stop_fd is readable.
     * Borrows both fds; listen_fd is options->listen_fd or that of socket_path,
     * or -1. */
    gboolean (*serve)(void *server, const void *options, int listen_fd,
                      int stop_fd, GError **error);

    void (*end)(void *server);
};

/* Run the daemon. Return the program's exit status: 0, or 1 after an error,
 * which is logged. */
int daemon_run(const struct daemon_program *program,
               const struct daemon_options *options, const void *own_options);

#endif
