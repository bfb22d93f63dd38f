/* SPDX-License-Identifier: Apache-2.0
 *
 * machine_change - add a folder to a running machine, and remove one; the
 * requests are those of machine.h.
 *
 * Adding: start the daemon, plug the device, mount; some kinds open the device
 * first, and attach it instead of the guest. Removing, and giving up a
 * failed addition: unmount, unplug, end the daemon. One request at a time.
 */
#ifndef AGENT_MACHINE_MACHINE_CHANGE_H
#define AGENT_MACHINE_MACHINE_CHANGE_H

#include "agent/machine/machine_core.h"

/* Return whether this folder is being added or removed. */
bool machine_change_is_of(const struct machine_folder *folder);

/* The guest has mounted the folder that is being added; or a step failed. */
void machine_change_mounted(struct machine *machine);
void machine_change_fail(struct machine *machine, const char *reason);

/* The guest has answered an "unmount"; error: NULL on success. */
void machine_change_unmounted(struct machine_folder *folder, const char *error);

/* The machine ends: fail the request. */
void machine_change_cancel(struct machine *machine);

#endif
