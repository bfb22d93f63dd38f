/* SPDX-License-Identifier: Apache-2.0
 *
 * network_process - starts the processes of the guest's network, which get
 * their sockets and files by number.
 *
 * Threads: all on the main thread (see child.h).
 */
#ifndef AGENT_MACHINE_NETWORK_PROCESS_H
#define AGENT_MACHINE_NETWORK_PROCESS_H

#include <glib.h>

#include "agent/base/child.h"

enum { NETWORK_PROCESS_FDS = 4 };

/* The option, without its dashes, that has the number of a file. */
struct network_process_fd {
    const char *option; /* NULL: none */
    int fd;             /* borrowed */
};

struct network_process {
    const char *name;
    const char *path; /* NULL: it is not installed */
    const char *log_level;
    struct network_process_fd fds[NETWORK_PROCESS_FDS];
};

/* Return the process, or NULL with ERROR_VM_LAUNCH_FAILED. */
struct child *network_process_spawn(const struct network_process *process,
                                    const struct child_callbacks *callbacks,
                                    void *opaque, GError **error);

#endif
