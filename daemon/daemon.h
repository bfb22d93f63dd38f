/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon - the life of a file server, from its command line to its end.
 *
 * What every server does is here: it makes its sockets, leaves a keeper
 * outside, goes into the sandbox, opens the folder and its undo log, serves the
 * control protocol, and ends on SIGTERM, SIGINT and SIGHUP. What a program adds
 * is how it serves its clients.
 *
 * Threads: the caller's serves; one waits for signals; the undo engine has its
 * own.
 */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

#include "daemon/options.h"

/* Where things are from now on: in the sandbox, paths are others. */
struct daemon_places {
    const char *undo_dir;  /* the log, or NULL */
    const char *store_dir; /* options->sandbox.store_dir, or NULL */
};

struct daemon_program {
    const char *name;
    bool human; /* messages for people also where no terminal is */

    /* The next get the program's own options. A new server over the folder,
     * before the control protocol is served; NULL and error. places is
     * borrowed for the call. */
    void *(*start)(struct ic *ic, const struct daemon_places *places,
                   const void *options, GError **error);

    /* Locked in: serve until there is nothing left to serve, or stop_fd can be
     * read. Borrows both fds; listen_fd is options->listen_fd or that of
     * socket_path, or -1. */
    gboolean (*serve)(void *server, const void *options, int listen_fd,
                      int stop_fd, GError **error);

    void (*end)(void *server);
};

/* Run it. The program's exit status: 0, or 1 after an error, which is in the
 * log. */
int daemon_run(const struct daemon_program *program,
               const struct daemon_options *options, const void *own_options);

#endif
