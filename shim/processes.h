/* SPDX-License-Identifier: Apache-2.0
 *
 * processes - track all processes of one execution.
 *
 * A process group is not enough: setsid() and a double fork leave it. So each
 * execution starts in its own cgroup (cgroup v2), which its processes cannot
 * leave by forking, and is ended with cgroup.kill.
 *
 * Without a writable cgroup v2, /proc is searched for the descendants of the
 * first process. That process must then be a subreaper that outlives them
 * (leader.h), and is not counted; in a cgroup it is.
 *
 * In both cases background processes of other executions are unaffected.
 */
#ifndef SHIM_PROCESSES_H
#define SHIM_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Set up once, before any command: the parent of all command cgroups. */
struct process_home {
    int cgroup; /* fd of the directory with a cgroup per execution; -1: none */
    unsigned long next;
};

/* One execution's processes. */
struct process_set {
    int cgroup;    /* fd of its directory; -1: use /proc */
    char name[32]; /* name of the directory within the home */
    pid_t root;    /* without a cgroup: their common ancestor */
};

/* Find or create the home; it has no cgroups if use_cgroups is false or they
 * are unavailable. Makes the process a subreaper. Return 0 or -errno. */
int process_home_init(struct process_home *home, bool use_cgroups);

/* Remove the home, unless processes of a command are left in it. */
void process_home_release(struct process_home *home);

/* Return true if sets are cgroups; otherwise the first process must be a
 * leader. */
bool process_home_has_cgroups(const struct process_home *home);

/* fork() a first process into a new set, that of the execution id. Return its
 * pid, 0 in the child, or -errno; -ESTALE: cgroups turned out to be unusable in
 * this home. */
pid_t process_set_fork(struct process_home *home, int64_t id,
                       struct process_set *set);

/* Send a signal to every process of the set. SIGKILL must be repeated until the
 * set is empty, to reach processes that are being forked. */
void process_set_signal(const struct process_set *set, int signal_number);

/* Return true if no process of the set is alive; zombies do not count. */
bool process_set_is_empty(const struct process_set *set);

/* Return true if this process belongs to the set now. */
bool process_set_contains(const struct process_home *home,
                          const struct process_set *set, pid_t pid);

/* Return true if the set has a process other than this one and its
 * ancestors. */
bool process_set_has_others(const struct process_set *set, pid_t pid);

/* With cgroups: return the execution in whose cgroup the process or thread is
 * now; 0: none. */
int64_t process_home_find(const struct process_home *home, pid_t pid);

/* Release the set. Its remaining processes continue to run. */
void process_set_release(struct process_home *home, struct process_set *set);

#endif
