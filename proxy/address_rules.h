/* SPDX-License-Identifier: Apache-2.0
 *
 * address_rules - which addresses a name may have.
 *
 * The owner of a name chooses its addresses. So only public ones are used; the
 * addresses of the host, of its network and of its cloud only if the policy
 * lists them as addresses (network_policy.h), too.
 */
#ifndef PROXY_ADDRESS_RULES_H
#define PROXY_ADDRESS_RULES_H

#include <stdbool.h>

#include "common/network_policy.h"

/* is_host tells whether an address belongs to the host (host_routes.h). */
bool address_rules_permit(const struct network_policy *policy,
                          const struct network_address *address, unsigned port,
                          bool (*is_host)(const struct network_address *address,
                                          void *opaque),
                          void *opaque);

#endif
