/* SPDX-License-Identifier: Apache-2.0
 *
 * tcp - a listening TCP socket that only this host can reach.
 *
 * 9P has no secret that a client would have to know, so no other address than
 * a loopback one is taken.
 */
#ifndef P9_SERVER_TCP_H
#define P9_SERVER_TCP_H

#include <glib.h>

/* "127.0.0.1:PORT" or "[::1]:PORT", by number; port 0: any. */
gboolean p9_tcp_check(const char *address, GError **error);

/* A new listening socket, and where it listens (a new string); -1 and error. */
int p9_tcp_listen(const char *address, char **ret_where, GError **error);

#endif
