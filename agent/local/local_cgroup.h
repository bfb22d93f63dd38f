/* SPDX-License-Identifier: Apache-2.0
 *
 * local_cgroup - the limits of a local sandbox, and its pause: a cgroup
 * (version 2) around its processes.
 *
 *     HOME/stepback-local-XXXXXXXX/    the limits; locked while its owner lives
 *         sandbox/                     the processes
 *
 * HOME is the nearest cgroup at or above the supervisor's own in which it may
 * make others. Two levels, because a controller that the upper one passes on
 * cannot be withdrawn from it by HOME's manager (systemd).
 *
 * The sandbox has no cgroup file system, and sees its cgroup as the root.
 */
#ifndef AGENT_LOCAL_LOCAL_CGROUP_H
#define AGENT_LOCAL_LOCAL_CGROUP_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

#include "agent/machine/session_config.h"

struct local_cgroup;

/* Make a cgroup with the limits of a configuration, as far as this host has
 * them, and remove those that killed supervisors have left. Fails with
 * ERROR_NO_CGROUP if a limit that was asked for cannot be had; the text names
 * the remedy. */
struct local_cgroup *local_cgroup_new(const struct session_config *config,
                                      GError **error);

/* Kill what is in it, and remove it. NULL is allowed. */
void local_cgroup_free(struct local_cgroup *cgroup);

/* Move a process with a single thread into it. Fails with
 * ERROR_VM_LAUNCH_FAILED. */
gboolean local_cgroup_add(const struct local_cgroup *cgroup, pid_t pid,
                          GError **error);

/* Return whether its processes can be paused. */
bool local_cgroup_can_freeze(const struct local_cgroup *cgroup);

/* Pause or resume them. Return whether they are paused. */
bool local_cgroup_freeze(const struct local_cgroup *cgroup, bool freeze);

/* Return whether memory is limited, and how many processes the kernel has
 * killed because of that. */
bool local_cgroup_limits_memory(const struct local_cgroup *cgroup);
guint64 local_cgroup_oom_kills(const struct local_cgroup *cgroup);

/* Return which limits this host does not have, and why; NULL: it has all. A new
 * string. ret_remedy: static. */
char *local_cgroup_problem(const char **ret_remedy);

/* Remove what killed supervisors have left. */
void local_cgroup_sweep(void);

#endif
