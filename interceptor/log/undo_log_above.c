/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_above - see undo_log_above.h.
 */
#include "interceptor/log/undo_log_above.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log_name.h"
#include "interceptor/log/undo_log_parts.h"
#include "interceptor/sys/sys.h"

int undo_log_open_own(int dirfd, const char *name)
{
    fd_auto int fd = sys_openat(dirfd, name, UNDO_LOG_DIR_FLAGS, 0);
    struct stat st;
    int rc = fd < 0 ? fd : sys_stat_fd(fd, &st);

    if (rc == 0 && st.st_uid != geteuid())
        rc = -EPERM;
    return rc < 0 ? rc : fd_steal(&fd);
}

int undo_log_open_above(const char *path)
{
    g_autofree char *above = g_path_get_dirname(path);
    g_autofree char *top = g_path_get_dirname(above);
    g_autofree char *name = g_path_get_basename(above);
    fd_auto int fd = -1;

    if (!g_str_has_suffix(above, "/" LOG_FOLDER))
        return -ENOENT;
    fd = undo_log_open_own(AT_FDCWD, top);
    return fd < 0 ? fd : undo_log_open_own(fd, name);
}
