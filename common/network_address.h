/* SPDX-License-Identifier: Apache-2.0
 *
 * network_address - addresses and networks of IPv4 and IPv6.
 */
#ifndef COMMON_NETWORK_ADDRESS_H
#define COMMON_NETWORK_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

/* An address of either family: an IPv4 address has the first 4 bytes, and the
 * others are 0. */
struct network_address {
    bool v6;
    uint8_t bytes[16];
};

struct network_prefix {
    struct network_address address; /* bits beyond length are 0 */
    unsigned length;
    unsigned port; /* of TCP and UDP; 0: all ports, and echo */
};

/* Return 32 or 128. */
unsigned network_address_bits(const struct network_address *address);

/* Format into text, of INET6_ADDRSTRLEN bytes, and return text. */
const char *network_address_format(const struct network_address *address,
                                   char *text);

/* Return whether the address lies within the network; the port is ignored. */
bool network_prefix_covers(const struct network_prefix *prefix,
                           const struct network_address *address);

#endif
