/* SPDX-License-Identifier: Apache-2.0
 *
 * vm_machine - machines that are virtual: QEMU with a kernel of its own.
 */
#ifndef AGENT_VM_VM_MACHINE_H
#define AGENT_VM_VM_MACHINE_H

#include "agent/machine/machine_kind.h"

extern const struct machine_kind vm_machine_kind;

#endif
