/* SPDX-License-Identifier: Apache-2.0
 *
 * vm_command - build the command line of QEMU.
 */
#ifndef AGENT_VM_VM_COMMAND_H
#define AGENT_VM_VM_COMMAND_H

#include <glib.h>
#include <stdbool.h>

#include "agent/machine/accel.h"
#include "agent/machine/backend_kind.h"
#include "agent/machine/guest_image.h"

#define VM_QEMU         "qemu-system-x86_64"
#define VM_QEMU_PACKAGE "qemu-system-x86"

/* The device of the shim's port, as QEMU's events name it. */
#define VM_CONTROL_PORT "control"

/* The character device of the serial console. */
#define VM_CONSOLE "console"

struct vm_config {
    const char *qemu; /* the program's path */
    const struct guest_image *image;
    bool keeps_disk;  /* the root disk is written, and kept after the run */
    const char *disk; /* that disk, an overlay; or NULL: not known yet, as the
                         state gets saved */
    const char *disk_base; /* the base of the overlay, read only */
    enum accel accel;      /* KVM or TCG */
    unsigned memory_mb;
    unsigned cpus;   /* 0: depends on the accelerator */
    int network_fd;  /* QEMU's end of a stream of frames; -1: no network */
    const char *mac; /* of the network card; NULL: QEMU's default */
    /* The machine is one whose state gets saved, or one that continues from
     * state_fd, an open file at the position of the state; -1: it boots. */
    bool is_template;
    int state_fd;
    enum backend_kind backend; /* of the folders that are plugged in later */
    const char *console_path;  /* receives the serial console */
    const char *append; /* appended to the kernel's command line; or NULL */
};

/* Return the path of QEMU as a new string: $STEPBACK_QEMU, which must be
 * absolute, or the result of host_program_find(). On failure return NULL with
 * ERROR_VM_LAUNCH_FAILED; the text says how to install it. */
char *vm_command_find_qemu(GError **error);

/* Connected sockets that QEMU inherits. */
struct vm_sockets {
    int control, bulk, qmp;
};

/* Build the command line. Returns a new vector. */
char **vm_command_build(const struct vm_config *config,
                        const struct vm_sockets *sockets);

#endif
