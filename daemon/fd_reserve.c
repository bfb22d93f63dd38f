/* SPDX-License-Identifier: Apache-2.0
 *
 * fd_reserve - see fd_reserve.h.
 */
#include "daemon/fd_reserve.h"

#include <errno.h>
#include <glib.h>
#include <sys/resource.h>

/* To be closed at once, so that not every request comes here. */
#define RELEASE 64u

int fd_reserve_check(struct ic *ic, int fd)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return -errno;
    if ((rlim_t)fd < limit.rlim_cur - MIN(FD_RESERVE, limit.rlim_cur / 4))
        return 0;
    /* The number stays high, but there are fewer than before. */
    return ic_release_fds(ic, RELEASE) > 0 ? 0 : -ENFILE;
}
