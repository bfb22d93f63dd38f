/* SPDX-License-Identifier: Apache-2.0
 *
 * tcp - a listening TCP socket that only this host can reach.
 *
 * 9P has no authentication secret, so only loopback addresses are accepted.
 */
#ifndef P9_SERVER_TCP_H
#define P9_SERVER_TCP_H

#include <glib.h>

/* Check "127.0.0.1:PORT" or "[::1]:PORT", numeric; port 0: any. */
gboolean p9_tcp_check(const char *address, GError **error);

/* Return a new listening socket, and its address (a new string); -1 and error
 * on failure. */
int p9_tcp_listen(const char *address, char **ret_where, GError **error);

#endif
