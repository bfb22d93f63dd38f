/* SPDX-License-Identifier: Apache-2.0
 *
 * name_connect - connects libslirp's sockets to the proxy.
 *
 * A guest reaches a name by an address that stands for it (name_table.h), and
 * libslirp calls connect(2) with that address. This program defines connect()
 * itself, so that the dynamic linker takes it for libslirp as well: for such an
 * address it puts another socket in the place of libslirp's.
 *
 * libslirp has slirp_add_unix() for a similar purpose. It connects by the path
 * of a socket, which this process may not use (confine.h), and it takes other
 * ports of the same address to the host's loopback.
 *
 * Threads: one; slirp has global variables, too.
 */
#ifndef NET_NAME_CONNECT_H
#define NET_NAME_CONNECT_H

#include "common/network_address.h"

/* Return a connected, non-blocking socket for this address and port, which the
 * caller owns; or -ENOENT to connect to the address as usual; or another
 * -errno, with which connect() then fails. */
typedef int (*name_connect_open)(const struct network_address *address,
                                 unsigned port, void *opaque);

/* Set the function for all connections from now on; NULL: none. */
void name_connect_set(name_connect_open open, void *opaque);

/* Return whether fd was connected in this way, and by which address. */
bool name_connect_peer(int fd, struct network_address *ret_address,
                       unsigned *ret_port);

/* Call it when fd, a socket of libslirp's, is about to be closed. */
void name_connect_forget(int fd);

#endif
