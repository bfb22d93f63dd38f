/* SPDX-License-Identifier: Apache-2.0
 *
 * vm_process - the process of QEMU: a child of this process, or of the holder
 * of a machine that was taken from the pool (pool_link.h).
 *
 * Either way it cannot outlive this process.
 *
 * Threads: all on the main thread (see child.h).
 */
#ifndef AGENT_VM_VM_PROCESS_H
#define AGENT_VM_VM_PROCESS_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

struct vm_process;

struct vm_process_callbacks {
    /* One line of stderr, as child_callbacks.line. */
    void (*line)(const char *line, void *opaque);
    /* The process has ended. Called once; must not free the object. */
    void (*exited)(void *opaque);
};

/* Start QEMU as child_spawn() does, with its errors. */
struct vm_process *
vm_process_spawn(const char *const *argv, const int *fds, size_t n_fds,
                 const struct vm_process_callbacks *callbacks, void *opaque,
                 GError **error);

/* Take over the process behind this link (taken), of these pids. */
struct vm_process *
vm_process_adopt(int link, GPid holder, GPid qemu,
                 const struct vm_process_callbacks *callbacks, void *opaque);

/* Free the object; a running process is killed. NULL is allowed. */
void vm_process_free(struct vm_process *process);

/* As the functions of child.h. */
void vm_process_expect_exit(struct vm_process *process, unsigned wait_ms,
                            unsigned grace_ms);
void vm_process_kill(struct vm_process *process);
bool vm_process_exited_cleanly(const struct vm_process *process);
char *vm_process_describe_exit(const struct vm_process *process);

/* Return QEMU's pid, or 0 if it has ended. */
GPid vm_process_pid(const struct vm_process *process);

/* Return the pid of the holder, whose child QEMU is; 0: QEMU is a child of this
 * process. */
GPid vm_process_holder(const struct vm_process *process);

#endif
