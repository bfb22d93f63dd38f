/* SPDX-License-Identifier: Apache-2.0
 *
 * confinement - locks a process of the network in before it reads data of a
 * guest.
 *
 * A guest that gains code execution in the process can make any of the sockets
 * that the process could, and thus bypass the policy; but it cannot get into
 * the host:
 *
 *   capabilities  none
 *   Landlock      no path, no abstract socket, no signal (landlock(7))
 *   seccomp       opens no file, binds no socket, only TCP and, on request, UDP
 *   limits        memory and open files; no core dumps
 */
#ifndef NETBASE_CONFINEMENT_H
#define NETBASE_CONFINEMENT_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/sandbox.h"

struct confinement {
    enum sandbox_action action; /* the reaction to a forbidden system call */
    unsigned memory, files;     /* limits: bytes, and open files */
    const int *calls;           /* allowed besides those that all use */
    size_t call_count;
    const int *pretended; /* succeed, and do nothing */
    size_t pretended_count;
    bool datagrams; /* UDP sockets; raw sockets fail instead of killing */
};

/* Return most, or the limit of open files that this process may set, if that is
 * lower. */
unsigned confinement_files(unsigned most);

/* Call it before any thread starts, when all files are open. FALSE and error on
 * failure. */
gboolean confinement_enter(const struct confinement *confinement,
                           GError **error);

#endif
