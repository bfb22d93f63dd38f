/* SPDX-License-Identifier: Apache-2.0
 *
 * network_entry - entries of a network policy, as a user or client writes them.
 *
 * Presets are replaced by their entries. Internationalized names are converted
 * to A-labels (IDNA 2008, with the mapping of UTS 46), which stepback-net and
 * the policy's JSON have.
 */
#ifndef AGENT_BASE_NETWORK_ENTRY_H
#define AGENT_BASE_NETWORK_ENTRY_H

#include "common/network_policy.h"

/* Add an entry: a network_policy_add_fn. ERROR_INVALID_FIELD. */
gboolean network_entry_add(struct network_policy *policy, const char *entry,
                           GError **error);

/* Return a normalized name with A-labels in its other form, U-labels: a new
 * string, printable; or NULL if there is none. */
char *network_entry_unicode(const char *name);

#endif
