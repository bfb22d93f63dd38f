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
 * A network on a list, and so "open", does not stand for everything in it. The
 * host's loopback (10.0.2.2, fec0::2), link-local addresses and other metadata
 * services of clouds are reached if the list has them or a network within them
 * (network_reserved.h); an address of the host, which is_host() knows, and an
 * IPv6 address that embeds one of these, by its exact form. No list opens what
 * is a loopback address already (127.0.0.1, ::1) or what the kernel takes for
 * one (0.0.0.0, ::, ::ffff:127.0.0.1) with the rest of ::/64, where IPv4 is
 * written in several ways (RFC 4291, 2.5.5; RFC 2765, 2.1), multicast and
 * broadcast, fe80::/10, and the rest of the guest's own network 10.0.2.0/24 and
 * fec0::/64, which stands between the guest and the world.
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

#include "common/network_address.h"

enum { NETWORK_POLICY_MAX = 256 };

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

/* Whether what leaves the guest can reach a stranger: the policy is "open", or
 * lists a network that is wider than any organization's (IPv4 /8, IPv6 /16). */
bool network_policy_is_wide(const struct network_policy *policy);

/* Whether the policy lets a guest reach it, by this port (0: by what has none);
 * whether it is an address of the host is for the caller to find out. */
bool network_policy_allows(const struct network_policy *policy,
                           const struct network_address *address,
                           unsigned port);

/* Whether this very address is on the list, with this port. */
bool network_policy_names(const struct network_policy *policy,
                          const struct network_address *address, unsigned port);

#endif
