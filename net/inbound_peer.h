/* SPDX-License-Identifier: Apache-2.0
 *
 * inbound_peer - the address by which the guest sees a client of a published
 * port.
 */
#ifndef NET_INBOUND_PEER_H
#define NET_INBOUND_PEER_H

#include <netinet/in.h>

#include "common/network_address.h"

/* Return the client's own address, or as slirp does 10.0.2.2 for the host's
 * loopback. */
struct network_address inbound_peer_address(const struct sockaddr_in *client);

#endif
