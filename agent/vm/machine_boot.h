/* SPDX-License-Identifier: Apache-2.0
 *
 * machine_boot - restart a guest that does not come up.
 */
#ifndef AGENT_VM_MACHINE_BOOT_H
#define AGENT_VM_MACHINE_BOOT_H

#include "agent/machine/machine_core.h"
#include "agent/vm/vm_machine_state.h"

/* QEMU runs: watch the boot, and restart a guest that hangs. */
void machine_boot_watch(struct machine *machine);
/* QEMU has ended before the guest was up. Return true if the guest will be
 * restarted. */
bool machine_boot_ended(struct machine *machine);
/* The start has failed for another reason: likewise, if the guest continued
 * from a template. */
bool machine_boot_recover(struct machine *machine, const char *reason);
/* In the stage RESTARTING, a QEMU or daemon process has ended. */
void machine_boot_continue(struct machine *machine);

#endif
