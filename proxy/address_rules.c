/* SPDX-License-Identifier: Apache-2.0
 *
 * address_rules - see address_rules.h.
 */
#include "proxy/address_rules.h"

#include "common/network_reserved.h"

#define V4(a, b, c, d, n)                                                      \
    {                                                                          \
        { false, { a, b, c, d } }, n, 0                                        \
    }
#define V6(n, ...)                                                             \
    {                                                                          \
        { true, { __VA_ARGS__ } }, n, 0                                        \
    }

/* Not public, besides those of network_reserved.c (RFC 6890). */
static const struct network_prefix private[] = {
    V4(10, 0, 0, 0, 8),    V4(100, 64, 0, 0, 10), /* providers' translation (RFC
                                                     6598) */
    V4(172, 16, 0, 0, 12), V4(192, 0, 0, 0, 24),  V4(192, 168, 0, 0, 16),
    V4(198, 18, 0, 0, 15), /* names of a guest, instead of benchmarks */
    V6(7, 0xfc),           /* unique local (RFC 4193) */
    V6(10, 0xfe, 0xc0),    /* site-local (RFC 3879) */
};

static bool is_private(const struct network_address *address)
{
    for (size_t i = 0; i < sizeof(private) / sizeof(*private); i++) {
        if (network_prefix_covers(&private[i], address))
            return true;
    }
    return network_reserved_find(address, network_address_bits(address));
}

bool address_rules_permit(const struct network_policy *policy,
                          const struct network_address *address, unsigned port,
                          bool (*is_host)(const struct network_address *address,
                                          void *opaque),
                          void *opaque)
{
    struct network_address all[1 + NETWORK_EMBEDDED_MAX] = { *address };
    unsigned count = 1;
    bool internal = false, host = false;

    if (address->v6)
        count += network_reserved_embedded(address, all + 1);
    for (unsigned i = 0; i < count; i++) {
        internal = internal || is_private(&all[i]);
        host = host || is_host(&all[i], opaque);
    }
    if (policy->kind == NETWORK_ALLOW &&
        network_policy_allows(policy, address, port))
        return !host || network_policy_names(policy, address, port);
    return !internal && !host;
}
