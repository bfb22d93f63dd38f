/* SPDX-License-Identifier: Apache-2.0
 *
 * inbound_peer - see inbound_peer.h.
 */
#include "net/inbound_peer.h"

#include <string.h>

enum { LOOPBACK_NET = 127 };

struct network_address inbound_peer_address(const struct sockaddr_in *client)
{
    static const struct network_address gateway = { false, { 10, 0, 2, 2 } };
    struct network_address address = { 0 };

    memcpy(address.bytes, &client->sin_addr, 4);
    return address.bytes[0] == LOOPBACK_NET ? gateway : address;
}
