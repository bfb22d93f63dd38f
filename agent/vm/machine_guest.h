/* SPDX-License-Identifier: Apache-2.0
 *
 * machine_guest - what the guest says.
 */
#ifndef AGENT_VM_MACHINE_GUEST_H
#define AGENT_VM_MACHINE_GUEST_H

#include "agent/vm/machine_core.h"

/* What the guest says, for a machine as opaque. */
extern const struct guest_channel_callbacks machine_guest_callbacks;

/* A lost folder's port has a new connection; or, with an error, has none. */
void machine_folder_reconnected(struct machine *machine, unsigned index,
                                const char *error);

#endif
