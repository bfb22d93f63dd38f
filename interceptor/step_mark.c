/* SPDX-License-Identifier: Apache-2.0
 *
 * step_mark - see step_mark.h.
 */
#include "interceptor/step_mark.h"

#include <errno.h>
#include <fcntl.h>

#include "common/fd.h"
#include "interceptor/step.h"
#include "interceptor/sys.h"

int step_mark(int dir, enum step_mark mark, bool sync)
{
    fd_auto int record = sys_openat(dir, STEP_MANIFEST, O_RDONLY | O_NOFOLLOW,
                                    0);
    struct stat st;
    int rc = record < 0 ? record : sys_stat_fd(record, &st);

    if (rc == 0)
        rc = sys_chmod_fd(record, (st.st_mode & 07777) | mark);
    return rc < 0 || !sync ? rc : sys_fsync(record);
}

int step_is_marked(int dir, enum step_mark mark)
{
    struct stat st;
    int rc = sys_stat_name(dir, STEP_MANIFEST, &st);

    return rc == 0 ? (st.st_mode & mark) != 0 : rc == -ENOENT ? 0 : rc;
}
