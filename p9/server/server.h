/* SPDX-License-Identifier: Apache-2.0
 *
 * server - serves a shared folder to 9P clients.
 *
 * Theory of operation. Each connection has a thread, which reads requests and
 * handles most of them itself (conn.h): the client waits for the reply, and a
 * switch to another thread costs more than a stat(2). Requests that may take
 * long, and large reads and writes with others behind them, go to a pool of
 * threads (pool.h), so that a connection's requests are answered out of order,
 * by tag. Requests that the undo engine does not accept now, and locks that are
 * held by others, wait in a list (daemon/parked.h) and block no thread.
 *
 * Memory is bounded independently of the peer: for each connection, the bytes
 * of active requests and of waiting replies (conn.h), and the fids (fids.h); in
 * total, the waiting requests (PARKED_MAX, PARKED_MAX_BYTES).
 *
 * Threads: one thread calls p9_server_serve().
 */
#ifndef P9_SERVER_SERVER_H
#define P9_SERVER_SERVER_H

#include <glib.h>

#include "p9/server/service.h"

/* Return a new server; NULL and error on failure. ic is borrowed for its
 * lifetime. */
struct p9_server *p9_server_new(struct ic *ic,
                                const struct p9_server_config *config,
                                GError **error);

/* Releases all inodes. NULL is allowed. */
void p9_server_free(struct p9_server *server);

/* Serve until stop_fd is readable. fd (borrowed) is a listening socket; or a
 * connected one, in which case this returns when that client has gone. */
gboolean p9_server_serve(struct p9_server *server, int fd, bool listens,
                         int stop_fd, GError **error);

#endif
