/* SPDX-License-Identifier: Apache-2.0
 *
 * vm - a running QEMU with its connections.
 *
 * One object is one run of QEMU: to start again, make another one.
 *
 * Threads: all on the main thread (see child.h).
 */
#ifndef AGENT_VM_VM_H
#define AGENT_VM_VM_H

#include <glib.h>

#include "agent/vm/guest_channel.h"
#include "agent/vm/vm_command.h"

struct vm;

struct vm_callbacks {
    /* QEMU has ended. Called once. The vm must not be freed in it. */
    void (*exited)(struct vm *vm, void *opaque);
    /* The guest closed the shim's port: nobody will answer there. */
    void (*port_closed)(struct vm *vm, void *opaque);
    /* vm_reconnect_folder() is done; error is NULL or says why not. */
    void (*folder_reconnected)(struct vm *vm, unsigned index, const char *error,
                               void *opaque);
};

/* Start QEMU. config is borrowed for the call; opaque goes to both sets of
 * callbacks. NULL and error: ERROR_VM_LAUNCH_FAILED. */
struct vm *vm_new(const struct vm_config *config,
                  const struct guest_channel_callbacks *guest_callbacks,
                  const struct vm_callbacks *callbacks, void *opaque,
                  GError **error);

/* If it still runs, it is killed. NULL is allowed. */
void vm_free(struct vm *vm);

/* The connection to the shim. Borrowed. */
struct guest_channel *vm_guest(struct vm *vm);

/* End it: by the guest if by_guest, else by QEMU; by SIGKILL if that takes
 * longer than about 2 s. "exited" follows. */
void vm_stop(struct vm *vm, bool by_guest);
void vm_kill(struct vm *vm);

/* Stop the guest's processors, or let them go on. */
void vm_hold(struct vm *vm, bool hold);
/* Whether QEMU says that they stand. */
bool vm_is_held(const struct vm *vm);

/* Give the port of a folder a new connection to the daemon's socket. */
void vm_reconnect_folder(struct vm *vm, unsigned index, const char *fs_socket);

/* How it ended: "QEMU exited with status 1: <its last words>", or what the
 * guest did. A new string. */
char *vm_describe_end(const struct vm *vm);

/* Whether QEMU ended because the guest was reset: its kernel crashed, or it
 * rebooted. */
bool vm_was_reset(const struct vm *vm);

/* How much of the console, in bytes: for a message, or with a crash's trace. */
enum vm_console { VM_CONSOLE_MESSAGE = 2048, VM_CONSOLE_TRACE = 16384 };

/* The end of the serial console as UTF-8. A new string. */
char *vm_console_tail(const struct vm *vm, enum vm_console bytes);

#endif
