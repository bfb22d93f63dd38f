/* SPDX-License-Identifier: Apache-2.0
 *
 * pool_priority - restore machines of the pool at low priority.
 *
 * Without privileges a process that has lowered its nice value cannot raise it
 * again (RLIMIT_NICE), and a taken machine must have the usual priority. What
 * can be raised again is the class of its input and output, and the nice value
 * of the autogroup of its session (sched(7)), where the kernel has these.
 */
#ifndef AGENT_VM_POOL_PRIORITY_H
#define AGENT_VM_POOL_PRIORITY_H

#include <stdbool.h>
#include <sys/types.h>

/* Lower the priority of a process that leads a session and a process group. */
void pool_priority_lower(pid_t pid);

/* Raise it again. Return false if it must be tried again later: the kernel
 * allows few changes of autogroups per second. */
bool pool_priority_raise(pid_t pid);

#endif
