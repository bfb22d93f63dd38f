/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_relay - connect two streams to a Unix socket.
 */
#ifndef AGENT_CLI_CLI_RELAY_H
#define AGENT_CLI_CLI_RELAY_H

#include <glib.h>

/* Copy from in to the socket at path, and from the socket to out, until the
 * socket's peer closes it. The end of in is passed on. On failure return FALSE
 * with ERROR_IO_ERROR; also if the peer closes before in has ended. */
gboolean cli_relay(const char *path, int in, int out, GError **error);

#endif
