/* SPDX-License-Identifier: Apache-2.0
 *
 * processes - all processes of one execution, to the last.
 *
 * A process group does not hold them: setsid() and a double fork leave it. So
 * each execution is born in a cgroup of its own (cgroup v2), which nothing that
 * it starts can leave by forking, and is ended with cgroup.kill.
 *
 * Where there is no writable cgroup v2, /proc is walked for the descendants of
 * the first process. That one must then be a subreaper that outlives them
 * (leader.h), and is not counted itself; in a cgroup it is.
 *
 * Either way background processes of other executions are not touched.
 */
#ifndef SHIM_PROCESSES_H
#define SHIM_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Once, before any command: where the cgroups of commands are kept. */
struct process_home {
    int cgroup; /* fd of the folder that holds a cgroup for each; -1: none */
    unsigned long next;
};

/* One execution's processes. */
struct process_set {
    int cgroup;    /* fd of its folder; -1: walk /proc */
    char name[32]; /* the folder's name in the home */
    pid_t root;    /* without a cgroup: whose descendants they are */
};

/* Find or make the home; without cgroups if use_cgroups is false or there are
 * none. Makes the process a subreaper. Returns 0 or -errno. */
int process_home_init(struct process_home *home, bool use_cgroups);

/* Remove the home, unless a command's processes live on in it. */
void process_home_release(struct process_home *home);

/* True if sets are cgroups; false: the first process must be a leader. */
bool process_home_has_cgroups(const struct process_home *home);

/* fork() a first process into a new set. Returns its pid, 0 in the child, or
 * -errno; -ESTALE: the home has turned out to have no cgroups after all. */
pid_t process_set_fork(struct process_home *home, struct process_set *set);

/* Send a signal to all of the set; SIGKILL leaves out none, also not one that
 * is just being forked, if it is repeated until the set is empty. */
void process_set_signal(const struct process_set *set, int signal_number);

/* True if none of the set lives; a zombie does not. */
bool process_set_is_empty(const struct process_set *set);

/* Forget the set. Its processes, if any, live on. */
void process_set_release(struct process_home *home, struct process_set *set);

#endif
