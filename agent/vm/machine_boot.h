/* SPDX-License-Identifier: Apache-2.0
 *
 * machine_boot - a guest that does not come up is started again.
 */
#ifndef AGENT_VM_MACHINE_BOOT_H
#define AGENT_VM_MACHINE_BOOT_H

#include "agent/vm/machine_core.h"

/* The boot timeout begins. */
void machine_boot_begin(struct machine *machine);
/* QEMU runs: see to it that a guest that hangs is started again. */
void machine_boot_watch(struct machine *machine);
/* QEMU has ended before the guest was up. True: the guest is started again. */
bool machine_boot_ended(struct machine *machine);
/* While RESTARTING: QEMU or a daemon has ended. */
void machine_boot_continue(struct machine *machine);

#endif
