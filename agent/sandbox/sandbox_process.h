/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_process - the processes of a sandbox.
 *
 * run.json names the supervisor by its pid and start time, so that a pid which
 * the kernel has reused is recognized. Signals go through a pidfd.
 */
#ifndef AGENT_SANDBOX_SANDBOX_PROCESS_H
#define AGENT_SANDBOX_SANDBOX_PROCESS_H

#include <glib.h>
#include <jansson.h>
#include <sys/types.h>

/* Return a process's start time in clock ticks since boot; 0 if there is no
 * such process. */
guint64 sandbox_process_start(pid_t pid);

/* Open the supervisor that run.json (may be NULL) names: a new pidfd, or -1 if
 * that process has ended. */
int sandbox_process_open(json_t *run);

/* Resources that all processes of a sandbox have used. */
struct sandbox_usage {
    unsigned processes;
    double cpu_seconds;
    gint64 memory_bytes;              /* resident; shared pages count once per
                                         process */
    gint64 read_bytes, written_bytes; /* from and to disks */
};

/* Sum up the supervisor, the holder of its machine (run.json's "holder"), and
 * the descendants of both. */
void sandbox_process_usage(json_t *run, struct sandbox_usage *ret_usage);

#endif
