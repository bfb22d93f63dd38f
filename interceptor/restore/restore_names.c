/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_names - see restore_names.h.
 */
#include "interceptor/restore/restore_names.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/fd.h"
#include "interceptor/restore/restore_relax.h"
#include "interceptor/sys/project.h"
#include "interceptor/sys/sys.h"

enum { DIR_FLAGS = O_PATH | O_DIRECTORY | O_NOFOLLOW };

struct staged_name restore_staged_name(uint64_t ino)
{
    struct staged_name name;

    snprintf(name.text, sizeof(name.text), "%" PRIu64, ino);
    return name;
}

bool restore_is_gone(int rc)
{
    return rc == -ENOENT || rc == -ESTALE || rc == -ENOTDIR || rc == -ELOOP;
}

/* Moving a directory changes its "..", for which it must be writable. */
int restore_rename(struct restore *r, int dirfd, const char *name, int to,
                   const char *to_name)
{
    int rc = project_rename(dirfd, name, to, to_name);
    fd_auto int fd = -1;
    struct stat st;

    if (rc != -EACCES)
        return rc;
    restore_relax(r, dirfd);
    rc = project_rename(dirfd, name, to, to_name);
    if (rc != -EACCES)
        return rc;
    fd = sys_openat(dirfd, name, DIR_FLAGS, 0);
    if (fd < 0 || sys_stat_fd(fd, &st) < 0)
        return -EACCES;
    restore_relax(r, fd);
    rc = project_rename(dirfd, name, to, to_name);
    sys_chmod_fd(fd, st.st_mode & 07777);
    return rc;
}

/* ---- homes --------------------------------------------------------------- */

static gconstpointer home_of(gconstpointer node)
{
    return ((const struct step_inode *)node)->home;
}

static const char *home_name_of(gconstpointer node)
{
    return ((const struct step_inode *)node)->home_name;
}

static unsigned depth_of(gconstpointer node)
{
    return ((const struct step_inode *)node)->depth;
}

static bool is_now(gconstpointer node, const struct stat *st)
{
    return step_is_now(node, st->st_ino);
}

static void relax(int dirfd, void *opaque)
{
    restore_relax(opaque, dirfd);
}

void restore_walker_init(struct walker *walker, struct restore *r, int dirfd,
                         const struct step_inode *dir)
{
    static const struct walker_ops ops = {
        .parent = home_of,
        .name = home_name_of,
        .depth = depth_of,
        .is = is_now,
        .relax = relax,
    };

    walker_init(walker, &ops, dirfd, dir);
    walker->opaque = r;
}

void restore_walker_init_plain(struct walker *walker, int dirfd,
                               const struct step_inode *dir)
{
    static const struct walker_ops ops = {
        .parent = home_of,
        .name = home_name_of,
        .depth = depth_of,
        .is = is_now,
    };

    walker_init(walker, &ops, dirfd, dir);
}

int restore_open_dir(struct restore *r, const struct step_inode *dir)
{
    int fd;

    if (dir != r->step->root && dir->depth == 0)
        return -ESTALE; /* damaged log: no path to it */
    fd = walker_go(&r->walker, dir);
    if (fd < 0)
        return fd;
    fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return fd < 0 ? -errno : fd;
}
