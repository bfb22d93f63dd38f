/* SPDX-License-Identifier: Apache-2.0
 *
 * network_policy - what a guest may reach.
 *
 *     "open"                             all but the host itself
 *     "disabled"                         nothing
 *     {"allow":["10.0.0.0/8","2001:db8::/32","1.2.3.4"],"dns":true}
 *
 * An entry may end with a port: "1.2.3.4:443", "10.0.0.0/8:5432", and of IPv6,
 * where colons are in the address, "[2001:db8::1]:443", "[2001:db8::/32]:443".
 * It then stands for this port of TCP and of UDP, and for no echo.
 *
 * A network on a list, and so "open", does not stand for everything in it.
 * What is nobody's business but the host's is had by its name alone:
 *
 *     10.0.2.2, fec0::2     the host's loopback, by this address
 *     an address of the host, which is_host() knows, by this address
 *     169.254.0.0/16        link-local, where clouds keep a machine's secrets:
 *                           by a network that lies within it
 *
 * and never: what is a loopback address already (127.0.0.1, ::1), what the
 * kernel takes for one (0.0.0.0, ::, ::ffff:127.0.0.1) with the rest of ::/64,
 * where IPv4 is written in several ways (RFC 4291, 2.5.5; RFC 2765, 2.1),
 * multicast and broadcast, fe80::/10, and the rest of the guest's own network
 * 10.0.2.0/24 and fec0::/64, which stands between the guest and the world.
 *
 * "dns" lets the guest ask the host's name server. That is a way out: whoever
 * owns a domain reads what is asked of it. So a list has it only if it says so.
 */
#ifndef COMMON_NETWORK_POLICY_H
#define COMMON_NETWORK_POLICY_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { NETWORK_POLICY_MAX = 256 };

/* An address of either family: an IPv4 address has the first 4 bytes, and the
 * others are 0. */
struct network_address {
    bool v6;
    uint8_t bytes[16];
};

struct network_prefix {
    struct network_address address; /* bits beyond length are 0 */
    unsigned length;
    unsigned port; /* of TCP and UDP; 0: all of them, and echo */
};

/* In place of a port: that of a part of a packet that does not tell it. */
enum { NETWORK_PORT_UNKNOWN = 1 << 16 };

enum network_kind { NETWORK_OPEN, NETWORK_DISABLED, NETWORK_ALLOW };

struct network_policy {
    enum network_kind kind;
    bool dns;
    unsigned count;
    struct network_prefix allow[NETWORK_POLICY_MAX];
};

/* Read the JSON above (borrowed; NULL is "open"). ERROR_INVALID_FIELD with
 * what to do. */
gboolean network_policy_parse(json_t *value, struct network_policy *ret_policy,
                              GError **error);

/* The same the other way. A new reference. */
json_t *network_policy_to_json(const struct network_policy *policy);

/* Whether the policy lets a guest reach it, by this port (0: by what has none);
 * whether it is an address of the host is for the caller to find out. */
bool network_policy_allows(const struct network_policy *policy,
                           const struct network_address *address,
                           unsigned port);

/* Whether this very address is on the list, with this port. */
bool network_policy_names(const struct network_policy *policy,
                          const struct network_address *address, unsigned port);

/* INET6_ADDRSTRLEN bytes at text, which is returned. */
const char *network_address_format(const struct network_address *address,
                                   char *text);

#endif
