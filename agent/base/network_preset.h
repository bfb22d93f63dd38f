/* SPDX-License-Identifier: Apache-2.0
 *
 * network_preset - lists of network policy entries by name: "preset:npm".
 *
 * A preset is a text file with an entry a line; "#" begins a comment. The
 * user's, in ~/.config/stepback/network, replaces the installed one of the same
 * name; with a line "preset:NAME", which means the installed one, it extends
 * it.
 */
#ifndef AGENT_BASE_NETWORK_PRESET_H
#define AGENT_BASE_NETWORK_PRESET_H

#include "common/network_policy.h"

/* Return the name in "preset:NAME", borrowed; NULL if the entry is another. */
const char *network_preset_name(const char *entry);

/* Return whether there is a preset of this name, installed or of the user. */
bool network_preset_exists(const char *name);

/* Call add for each entry of the preset. ERROR_INVALID_FIELD, with the file and
 * line. */
gboolean network_preset_add(struct network_policy *policy, const char *entry,
                            network_policy_add_fn *add, GError **error);

#endif
