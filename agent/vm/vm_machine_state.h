/* SPDX-License-Identifier: Apache-2.0
 *
 * vm_machine_state - the state of a virtual machine, private to the files that
 * implement vm_machine.h.
 */
#ifndef AGENT_VM_VM_MACHINE_STATE_H
#define AGENT_VM_VM_MACHINE_STATE_H

#include "agent/machine/guest_image.h"
#include "agent/vm/vm.h"
#include "agent/vm/vm_disk.h"

struct vm_machine {
    char *qemu;
    struct guest_image *image;
    struct vm_disk *disk; /* NULL: the machine has no persistent disk */
    enum accel accel;
    bool started_again; /* with TCG */
    char *mac;          /* of the network card; random */
    char *template_key; /* NULL: the machine can have no template */
    bool restored;      /* this start continues from the template */
    bool no_template;   /* it does not suit, or a start with it failed */
    /* This start continues with a machine of the pool, which is like one that
     * continues from the template. */
    bool pooled;
    bool no_pool;          /* an earlier start with one has failed */
    struct vm_parts parts; /* of that machine, until QEMU is connected */
    struct vm *vm;         /* outlives its process */
};

#endif
