/* SPDX-License-Identifier: Apache-2.0
 *
 * machine_guest - handle the guest's messages.
 */
#ifndef AGENT_MACHINE_MACHINE_GUEST_H
#define AGENT_MACHINE_MACHINE_GUEST_H

#include "agent/machine/machine_core.h"

/* Callbacks for the guest's messages; opaque is the machine. */
extern const struct guest_channel_callbacks machine_guest_callbacks;

#endif
