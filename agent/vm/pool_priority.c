/* SPDX-License-Identifier: Apache-2.0
 *
 * pool_priority - see pool_priority.h.
 */
#include "agent/vm/pool_priority.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"

/* linux/ioprio.h, which is newer than Debian 12's headers. */
enum { IOPRIO_OF_GROUP = 2, IOPRIO_NONE = 0, IOPRIO_IDLE = 3 << 13 };

#define LOWEST "19"
#define USUAL  "0"

static void set_io(pid_t pid, int priority)
{
    syscall(SYS_ioprio_set, IOPRIO_OF_GROUP, pid, priority);
}

/* Return 0 or -errno. */
static int set_autogroup(pid_t pid, const char *nice)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/autogroup", (int)pid);
    fd_auto int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0 || write(fd, nice, strlen(nice)) < 0)
        return -errno;
    return 0;
}

void pool_priority_lower(pid_t pid)
{
    set_io(pid, IOPRIO_IDLE);
    set_autogroup(pid, LOWEST);
}

bool pool_priority_raise(pid_t pid)
{
    set_io(pid, IOPRIO_NONE);
    return set_autogroup(pid, USUAL) != -EAGAIN;
}
