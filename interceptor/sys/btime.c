/* SPDX-License-Identifier: Apache-2.0
 *
 * btime - see btime.h.
 */
#include "interceptor/sys/btime.h"

#include <linux/magic.h>
#include <stdbool.h>
#include <sys/vfs.h>
#include <time.h>

#include "interceptor/sys/clock.h"
#include "interceptor/sys/sys.h"

static bool is_overlay(int fd)
{
    struct statfs fs;

    return fstatfs(fd, &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

int64_t btime_of_name(int dirfd, const char *name)
{
    struct timespec born, changed;
    int64_t ns;

    if (is_overlay(dirfd) || sys_btime_name(dirfd, name, &born, &changed) < 0)
        return 0;
    ns = clock_ns(&born);
    return ns <= clock_ns(&changed) ? ns : 0;
}
