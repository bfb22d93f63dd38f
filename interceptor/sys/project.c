/* SPDX-License-Identifier: Apache-2.0
 *
 * project - see project.h.
 */
#include "interceptor/sys/project.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include "common/fd.h"
#include "interceptor/sys/sys.h"

enum { FILE_FLAGS = O_RDONLY | O_NONBLOCK | O_NOFOLLOW };

static bool inherits(const struct fsxattr *attr)
{
    return attr->fsx_xflags & FS_XFLAG_PROJINHERIT;
}

static struct project project_of(const struct fsxattr *attr)
{
    return (struct project){ attr->fsx_projid, inherits(attr) };
}

/* ioctl(2) refuses O_PATH fds, and device nodes must not be opened. */
static int open_name(int dirfd, const char *name)
{
    struct stat st;
    int rc = sys_stat_name(dirfd, name, &st);

    if (rc < 0)
        return rc;
    return S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)
               ? sys_openat(dirfd, name, FILE_FLAGS, 0)
               : -ENOTTY;
}

struct project project_of_fd(int fd)
{
    struct fsxattr attr;
    fd_auto int file = sys_reopen(fd, O_RDONLY | O_NONBLOCK);

    if (file < 0 || sys_get_fsxattr(file, &attr) < 0)
        return (struct project){ 0 };
    return project_of(&attr);
}

int project_of_name(int dirfd, const char *name, struct project *ret_project)
{
    struct fsxattr attr;
    fd_auto int file = open_name(dirfd, name);
    int rc = file < 0 ? file : sys_get_fsxattr(file, &attr);

    if (rc == 0)
        *ret_project = project_of(&attr);
    return rc;
}

int project_set(int dirfd, struct project wanted)
{
    fd_auto int dir = sys_openat(dirfd, ".", O_RDONLY | O_DIRECTORY, 0);
    struct fsxattr attr;
    int rc = dir < 0 ? dir : sys_get_fsxattr(dir, &attr);

    if (rc < 0 ||
        (inherits(&attr) == wanted.inherits && attr.fsx_projid == wanted.id))
        return rc;
    attr.fsx_projid = wanted.id;
    attr.fsx_xflags &= ~(unsigned)FS_XFLAG_PROJINHERIT;
    if (wanted.inherits)
        attr.fsx_xflags |= FS_XFLAG_PROJINHERIT;
    return sys_set_fsxattr(dir, &attr);
}

/* Stop the inheritance. Returns true if the folder had it until now. */
static bool let_in(int dirfd)
{
    struct project project = project_of_fd(dirfd);

    if (!project.inherits)
        return false;
    project.inherits = false;
    return project_set(dirfd, project) == 0;
}

void project_stop(int dirfd)
{
    let_in(dirfd);
}

int project_rename(int dirfd, const char *name, int to, const char *to_name)
{
    int rc = sys_rename_noreplace(dirfd, name, to, to_name);

    return rc == -EXDEV && let_in(to)
               ? sys_rename_noreplace(dirfd, name, to, to_name)
               : rc;
}

int project_link(int dirfd, const char *name, int to, const char *to_name)
{
    int rc = sys_linkat(dirfd, name, to, to_name);

    return rc == -EXDEV && let_in(to) ? sys_linkat(dirfd, name, to, to_name)
                                      : rc;
}

void project_adopt(int dirfd, const char *name, int folder)
{
    struct project wanted = project_of_fd(folder);
    fd_auto int file = wanted.inherits ? open_name(dirfd, name) : -1;
    struct fsxattr attr;

    if (file < 0 || sys_get_fsxattr(file, &attr) < 0 ||
        attr.fsx_projid == wanted.id)
        return;
    attr.fsx_projid = wanted.id;
    sys_set_fsxattr(file, &attr);
}
