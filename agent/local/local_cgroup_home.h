/* SPDX-License-Identifier: Apache-2.0
 *
 * local_cgroup_home - where this process may make cgroups.
 */
#ifndef AGENT_LOCAL_LOCAL_CGROUP_HOME_H
#define AGENT_LOCAL_LOCAL_CGROUP_HOME_H

#include <glib.h>
#include <stdbool.h>

enum cgroup_controller { CGROUP_MEMORY, CGROUP_CPU, CGROUP_PIDS };
enum { CGROUP_CONTROLLERS = 3 };

struct cgroup_home {
    int fd;                       /* of the directory; -1: none */
    bool has[CGROUP_CONTROLLERS]; /* in the cgroups that are made there */
};

/* Find the nearest cgroup at or above the own one that has most controllers,
 * and enable them there. The caller closes fd. */
struct cgroup_home cgroup_home_find(void);

/* Say why a home has not all controllers. Static; ret_remedy, too. */
const char *cgroup_home_reason(const struct cgroup_home *home,
                               const char **ret_remedy);

/* Have the cgroups below this one use the controllers that are in has[], if
 * they can; has[] becomes what they use. */
void cgroup_enable(int dir, bool has[CGROUP_CONTROLLERS]);

/* Write a file of a cgroup. Return 0 or -errno. */
int cgroup_write(int dir, const char *name, const char *text);

/* Read one: a new string, or NULL. */
char *cgroup_read(int dir, const char *name);

#endif
