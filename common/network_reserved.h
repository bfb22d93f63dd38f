/* SPDX-License-Identifier: Apache-2.0
 *
 * network_reserved - addresses that a wider network on a list does not include.
 *
 * The table in network_reserved.c has two kinds of rows: networks that no guest
 * can reach, and those of the host and of its cloud (a metadata service hands
 * the machine's credentials to any local program), which a guest can reach only
 * if its policy lists them, or a network within them.
 *
 * A translator or a tunnel on the way (NAT64, 6to4, Teredo) turns an IPv6
 * address into the IPv4 address that it embeds. So an IPv6 address is reserved
 * if one that it embeds is; then only its exact IPv6 form opens it. A NAT64
 * prefix of a network's own (RFC 6052, 2.2) cannot be recognized.
 */
#ifndef COMMON_NETWORK_RESERVED_H
#define COMMON_NETWORK_RESERVED_H

#include "common/network_address.h"

enum { NETWORK_EMBEDDED_MAX = 4 };

struct network_reserved {
    struct network_prefix prefix;
    bool never; /* no guest can reach it, whatever its policy */
};

/* Return the row of the table that contains the whole network address/length,
 * or NULL. Embedded addresses are not checked. */
const struct network_reserved *
network_reserved_find(const struct network_address *address, unsigned length);

/* Store the IPv4 addresses that an IPv6 address may embed, and return their
 * number. In 64:ff9b:1::/48 they depend on how a network divides it: all
 * plausible interpretations are returned. */
unsigned network_reserved_embedded(
    const struct network_address *address,
    struct network_address ret_embedded[NETWORK_EMBEDDED_MAX]);

#endif
