/* SPDX-License-Identifier: Apache-2.0
 *
 * limits - see limits.h.
 */
#include "local/limits.h"

#include <sys/resource.h>

#include "local/report.h"

enum { MAX_PROCESSES = 4096 };

/* Lower a limit, for good: no process of the sandbox has CAP_SYS_RESOURCE. */
static void lower(__rlimit_resource_t resource, rlim_t most, const char *what)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) < 0)
        limit = (struct rlimit){ most, most };
    if (limit.rlim_max > most)
        limit.rlim_max = most;
    if (limit.rlim_cur > limit.rlim_max)
        limit.rlim_cur = limit.rlim_max;
    if (setrlimit(resource, &limit) < 0)
        report_failure(LOCAL_FAILED, "cannot limit %s", what);
}

void limits_set(void)
{
    lower(RLIMIT_NPROC, MAX_PROCESSES, "the number of processes");
}
