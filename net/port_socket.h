/* SPDX-License-Identifier: Apache-2.0
 *
 * port_socket - receives the sockets of published ports from the supervisor.
 *
 * The supervisor sends a message of one byte with one socket (SCM_RIGHTS) on a
 * channel of type SOCK_SEQPACKET, and then the request port.add on the control
 * channel. So the socket has arrived when the request is read, and nothing
 * waits for this channel.
 */
#ifndef NET_PORT_SOCKET_H
#define NET_PORT_SOCKET_H

#include <glib.h>

/* Return the next socket; the caller owns it. -1 and error (ERROR_IO_ERROR) if
 * there is none. channel: -1 if the supervisor has passed none. */
int port_socket_receive(int channel, GError **error);

#endif
