/* SPDX-License-Identifier: Apache-2.0
 *
 * core_dumps - see core_dumps.h.
 */
#include "agent/base/core_dumps.h"

#include <glib.h>
#include <sys/resource.h>

void core_dumps_forbid(void)
{
    struct rlimit limit;

    /* 0 does not stop a dump to a program; 1 stops all (core(5), and
     * do_coredump() since Linux 2.6.32). */
    if (getrlimit(RLIMIT_CORE, &limit) == 0) {
        limit.rlim_cur = MIN(1, limit.rlim_max);
        setrlimit(RLIMIT_CORE, &limit);
    }
}
