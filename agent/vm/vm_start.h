/* SPDX-License-Identifier: Apache-2.0
 *
 * vm_start - one start of a virtual machine: with a machine of the pool, from
 * the template, or by a boot, whichever is the quickest that is possible.
 */
#ifndef AGENT_VM_VM_START_H
#define AGENT_VM_VM_START_H

#include "agent/machine/machine_core.h"
#include "agent/vm/vm.h"

/* Return QEMU's configuration, which boots; what it points to is borrowed from
 * the machine. */
struct vm_config vm_start_config(const struct machine *machine, int network_fd);

/* Implements machine_kind.choose: take a machine of the pool, if there is one;
 * its end of the network goes to machine->tap. */
void vm_start_choose(struct machine *machine);

/* Implements machine_kind.start, with these callbacks of the vm. */
gboolean vm_start_run(struct machine *machine, int network_fd,
                      const struct vm_callbacks *callbacks, GError **error);

#endif
