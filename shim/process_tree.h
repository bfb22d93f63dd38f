/* SPDX-License-Identifier: Apache-2.0
 *
 * process_tree - every process that a command has started, to signal and to
 * wait for.
 *
 * A session or a process group is not enough: setsid and a double fork leave
 * both. Two ways, chosen at the start:
 *
 * - A cgroup (v2) for each command. It holds all descendants whatever they
 *   do, and cgroup.kill takes even a fork bomb in one stroke.
 * - Where there is none: the shim is the subreaper of all that it started, so
 *   all of it is below the shim in /proc. What was already there when the
 *   command began belongs to earlier commands and is left alone, with its
 *   children as long as it is their ancestor.
 *
 * One tree is current at a time; the functions work on that.
 */
#ifndef SHIM_PROCESS_TREE_H
#define SHIM_PROCESS_TREE_H

#include <stdbool.h>
#include <sys/types.h>

/* Call once. cgroup is a folder of a cgroup2 mount, made if missing, or NULL.
 * If it cannot be used, the other way is taken. */
void process_tree_init(const char *cgroup);

/* Before a command: begin a new, empty tree. */
void process_tree_begin(void);

/* Put a new process into it, 0 for the caller. Both sides of the fork do: the
 * child, so that it is in before it runs anything, and the parent, so that it
 * is in before a cancel can come. 0 or -errno. */
int process_tree_add(pid_t pid);

/* Signal every process of the tree. */
void process_tree_signal(int signal);

/* True if no live process is left. */
bool process_tree_is_empty(void);

#endif
