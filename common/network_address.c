/* SPDX-License-Identifier: Apache-2.0
 *
 * network_address - see network_address.h.
 */
#include "common/network_address.h"

#include <arpa/inet.h>
#include <string.h>

unsigned network_address_bits(const struct network_address *address)
{
    return address->v6 ? 128 : 32;
}

const char *network_address_format(const struct network_address *address,
                                   char *text)
{
    return inet_ntop(address->v6 ? AF_INET6 : AF_INET, address->bytes, text,
                     INET6_ADDRSTRLEN);
}

bool network_prefix_covers(const struct network_prefix *prefix,
                           const struct network_address *address)
{
    unsigned bytes = prefix->length / 8, bits = prefix->length % 8;
    uint8_t mask = (uint8_t)(0xff00 >> bits);

    return prefix->address.v6 == address->v6 &&
           memcmp(prefix->address.bytes, address->bytes, bytes) == 0 &&
           (bits == 0 ||
            ((prefix->address.bytes[bytes] ^ address->bytes[bytes]) & mask) ==
                0);
}
