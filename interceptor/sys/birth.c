/* SPDX-License-Identifier: Apache-2.0
 *
 * birth - see birth.h.
 */
#include "interceptor/sys/birth.h"

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

int64_t birth_of_name(int dirfd, const char *name)
{
    struct timespec born, changed;
    int64_t ns;

    if (is_overlay(dirfd) || sys_birth_name(dirfd, name, &born, &changed) < 0)
        return 0;
    ns = clock_ns(&born);
    return ns <= clock_ns(&changed) ? ns : 0;
}
