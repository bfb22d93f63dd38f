/* SPDX-License-Identifier: Apache-2.0
 *
 * network_hint - the policy's entry that would allow what was refused.
 *
 * The guest chooses names and addresses, and may have taken over the process
 * that reports them. So an entry is offered only if it is one address or name,
 * no word such as "open", is nothing of the host's or of its cloud, and allows
 * what was refused.
 */
#ifndef AGENT_MACHINE_NETWORK_HINT_H
#define AGENT_MACHINE_NETWORK_HINT_H

#include <jansson.h>

#include "common/network_policy.h"

/* Return the entry for the payload of event.refused (net/control.h), a new
 * string, or NULL. policy: the one in force. */
char *network_hint_find(const struct network_policy *policy, json_t *payload);

/* Return a copy of an entry that the proxy offers for a connection to the name,
 * or NULL. An entry for another name is not offered: the guest could choose it.
 * name, entry: may be NULL. */
char *network_hint_check(const struct network_policy *policy, const char *name,
                         const char *entry);

#endif
