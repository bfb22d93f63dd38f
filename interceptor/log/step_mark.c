/* SPDX-License-Identifier: Apache-2.0
 *
 * step_mark - see step_mark.h.
 */
#include "interceptor/log/step_mark.h"

#include <errno.h>
#include <fcntl.h>

#include "common/fd.h"
#include "interceptor/log/step.h"
#include "interceptor/sys/sys.h"

/* Set and clear bits of the manifest's mode. */
static int change_mode(int dir, mode_t with, mode_t without, bool sync)
{
    fd_auto int record = sys_openat(dir, STEP_MANIFEST, O_RDONLY | O_NOFOLLOW,
                                    0);
    struct stat st;
    int rc = record < 0 ? record : sys_stat_fd(record, &st);
    mode_t wanted = rc == 0 ? ((st.st_mode & 07777) | with) & ~without : 0;

    if (rc == 0 && (st.st_mode & 07777) != wanted)
        rc = sys_chmod_fd(record, wanted);
    return rc < 0 || !sync ? rc : sys_fsync(record);
}

int step_mark(int dir, enum step_mark mark, bool sync)
{
    return change_mode(dir, (mode_t)mark, 0, sync);
}

int step_unmark(int dir, enum step_mark mark)
{
    return change_mode(dir, 0, (mode_t)mark, false);
}

int step_is_marked(int dir, enum step_mark mark)
{
    struct stat st;
    int rc = sys_stat_name(dir, STEP_MANIFEST, &st);

    return rc == 0 ? (st.st_mode & mark) != 0 : rc == -ENOENT ? 0 : rc;
}
