/* SPDX-License-Identifier: Apache-2.0
 *
 * server - serves a shared folder to 9P clients.
 *
 * Theory of operation. Each connection has a thread, which reads requests and
 * does most of them itself (conn.h): the client waits for the answer, and a
 * switch to another thread costs more than a stat(2). What may take long, and
 * large reads and writes that have others behind them, go to a pool of threads
 * (pool.h), so that a connection's requests are answered out of order, by tag.
 * Requests that the undo engine does not take now, and locks that are held by
 * others, wait in a list (daemon/parked.h) and hold up no thread.
 *
 * Memory is bounded by what the peer cannot choose: of each connection, the
 * bytes of requests in work and of replies that wait (conn.h), and fids
 * (fids.h); of all, the requests that wait (PARKED_MAX, PARKED_MAX_BYTES).
 *
 * Threads: p9_server_serve() by one.
 */
#ifndef P9_SERVER_SERVER_H
#define P9_SERVER_SERVER_H

#include <glib.h>

#include "p9/server/service.h"

/* ic is borrowed for the server's life. Returns new; NULL and error. */
struct p9_server *p9_server_new(struct ic *ic,
                                const struct p9_server_config *config,
                                GError **error);

/* Gives all inodes back. NULL is allowed. */
void p9_server_free(struct p9_server *server);

/* Serve until stop_fd can be read. fd (borrowed) listens; or it is connected,
 * and this returns when that client has gone. */
gboolean p9_server_serve(struct p9_server *server, int fd, bool listens,
                         int stop_fd, GError **error);

#endif
