/* SPDX-License-Identifier: Apache-2.0
 *
 * fd_reserve - see fd_reserve.h.
 */
#include "daemon/fd_reserve.h"

#include <errno.h>
#include <glib.h>
#include <sys/resource.h>

int fd_reserve_check(int fd)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return -errno;
    if ((rlim_t)fd < limit.rlim_cur - MIN(FD_RESERVE, limit.rlim_cur / 4))
        return 0;
    return -EMFILE;
}
