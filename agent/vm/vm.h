/* SPDX-License-Identifier: Apache-2.0
 *
 * vm - a running QEMU with its connections.
 *
 * One object is one run of QEMU; a restart needs a new object.
 *
 * Threads: all on the main thread (see child.h).
 */
#ifndef AGENT_VM_VM_H
#define AGENT_VM_VM_H

#include <glib.h>

#include "agent/machine/bulk_port.h"
#include "agent/machine/guest_channel.h"
#include "agent/vm/vm_command.h"
#include "agent/vm/vm_folders.h"

struct vm;

struct vm_callbacks {
    /* QEMU has ended. Called once. The callback must not free the vm. */
    void (*exited)(struct vm *vm, void *opaque);
    /* The guest closed the shim's port: no answer will come. */
    void (*port_closed)(struct vm *vm, void *opaque);
    /* vm_save() has ended; error is NULL on success. NULL: it is not used. */
    void (*saved)(const char *error, void *opaque);
    /* A line of QEMU's stderr; NULL: it is logged. */
    void (*line)(const char *line, void *opaque);
};

/* The processes and connections of a running machine. A missing fd is -1. */
struct vm_parts {
    int link; /* to the holder of the process (pool_link.h) */
    int control, bulk, monitor, network;
    GPid holder, qemu;
};

#define VM_PARTS_NONE ((struct vm_parts){ -1, -1, -1, -1, -1, 0, 0 })

void vm_parts_close(struct vm_parts *parts);

/* Start QEMU. config is borrowed for the call; opaque goes to both sets of
 * callbacks. On failure return NULL with ERROR_VM_LAUNCH_FAILED. */
struct vm *vm_new(const struct vm_config *config,
                  const struct guest_channel_callbacks *guest_callbacks,
                  const struct vm_callbacks *callbacks, void *opaque,
                  GError **error);

/* Take over a paused machine whose shim has said hello to its former owner, and
 * resume it. The fds of parts are taken, but not "network". */
struct vm *vm_adopt(const struct vm_config *config, struct vm_parts *parts,
                    const struct guest_channel_callbacks *guest_callbacks,
                    const struct vm_callbacks *callbacks, void *opaque);

/* Give the connections of a paused machine away as new fds; without "link",
 * "network" and "holder". The vm keeps the process alone: vm_kill(),
 * vm_terminate(), vm_describe_process(), vm_ended_cleanly(), vm_pid() and
 * vm_free() are valid. Return
 * false if no fds are left. */
bool vm_disconnect(struct vm *vm, struct vm_parts *ret_parts);

/* Return the pid of QEMU, or of the holder whose child QEMU is; 0: none. */
GPid vm_pid(const struct vm *vm);
GPid vm_holder(const struct vm *vm);

/* Free the vm; a running QEMU is killed. NULL is allowed. */
void vm_free(struct vm *vm);

/* The connection to the shim. Borrowed. */
struct guest_channel *vm_guest(struct vm *vm);

/* The port for copies. Borrowed. */
struct bulk_port *vm_bulk(struct vm *vm);

/* The devices of the shared folders. Borrowed. */
struct vm_folders *vm_folders(struct vm *vm);

/* End the machine: through the guest if by_guest, otherwise through QEMU; with
 * SIGKILL after about 2 s. "exited" follows. */
void vm_stop(struct vm *vm, bool by_guest);
void vm_kill(struct vm *vm);
/* Send SIGTERM now, and SIGKILL later. */
void vm_terminate(struct vm *vm);

/* Return whether QEMU has answered: the guest boots. */
bool vm_is_up(const struct vm *vm);

/* Write the machine's state to a UNIX socket that listens at this path; the
 * guest stops with it. "saved" follows, perhaps more than once after an error.
 */
void vm_save(struct vm *vm, const char *socket);

/* Stop or resume the guest's processors. */
void vm_hold(struct vm *vm, bool hold);
/* Stop them, and call done once no device writes to the guest's memory any
 * more, or with the error. */
void vm_pause(struct vm *vm, void (*done)(const char *error, void *opaque));
/* Return whether QEMU has reported that the processors are stopped. */
bool vm_is_held(const struct vm *vm);

/* Describe the end: "QEMU exited with status 1: <its last line>", or the
 * guest's action. Returns a new string. */
char *vm_describe_end(const struct vm *vm);

/* Describe only the end of the process, and return whether it ended with status
 * 0. */
char *vm_describe_process(const struct vm *vm);
bool vm_ended_cleanly(const struct vm *vm);

/* Return whether QEMU ended because of a guest reset: its kernel crashed, or it
 * rebooted. */
bool vm_was_reset(const struct vm *vm);

/* The number of console bytes: for a message, or enough for a crash trace. */
enum vm_console { VM_CONSOLE_MESSAGE = 2048, VM_CONSOLE_TRACE = 16384 };

/* Return the end of the serial console as UTF-8: a new string. */
char *vm_console_tail(const struct vm *vm, enum vm_console bytes);

#endif
