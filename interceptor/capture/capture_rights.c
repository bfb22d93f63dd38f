/* SPDX-License-Identifier: Apache-2.0
 *
 * capture_rights - see capture_rights.h.
 */
#include "interceptor/capture/capture_rights.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "interceptor/capture/capture_home.h"
#include "interceptor/capture/capture_note.h"
#include "interceptor/sys/project.h"
#include "interceptor/sys/rights.h"
#include "interceptor/sys/sys.h"

static int refuse(struct wal *wal, const char *name, const char *what)
{
    g_autofree char *valid = g_utf8_make_valid(name ? name : "?", -1);

    if (!wal->told_rights)
        log_warn(LOG_UNDO,
                 "'%s': a change was refused because it could not be undone: "
                 "only root could restore its %s",
                 *valid ? valid : ".", what);
    wal->told_rights = true;
    return -EPERM;
}

static int refuse_inode(struct wal *wal, const struct step_inode *known,
                        const char *what)
{
    g_autofree char *path = step_path_before(wal->step, known, NULL);

    return refuse(wal, path, what);
}

static bool is_restored(const struct step_inode *known)
{
    return known && !(known->flags & STEP_CREATED);
}

static int check_group_bit(struct wal *wal, const struct ic_inode *inode,
                           const struct step_inode *known)
{
    struct stat st;
    int rc = sys_stat_fd(inode->fd, &st);

    if (rc < 0 || !(st.st_mode & S_ISGID) || rights_may_set_group_bit(&st))
        return rc;
    return refuse_inode(wal, known, "set-group-ID bit");
}

static int check_capability(struct wal *wal, const struct ic_inode *inode,
                            const struct step_inode *known)
{
    int rc = S_ISREG(inode->type) ? rights_lack_capability(inode->fd) : 0;

    return rc <= 0 ? rc : refuse_inode(wal, known, "capabilities");
}

int capture_check_mode(struct wal *wal, const struct ic_inode *inode,
                       const struct step_inode *known)
{
    if (!is_restored(known) || known->flags & STEP_RETIRING)
        return 0;
    return check_group_bit(wal, inode, known);
}

int capture_check_content(struct wal *wal, const struct ic_inode *inode,
                          const struct step_inode *known)
{
    int rc = check_group_bit(wal, inode, known);

    return rc == 0 ? check_capability(wal, inode, known) : rc;
}

int capture_check_copy(struct wal *wal, struct ic_inode *inode,
                       const struct stat *now)
{
    struct step_inode *known;
    int rc = capture_inode(wal, inode, &known);

    /* Undo restores a removed name as a link to the remaining ones. */
    if (rc < 0 || !is_restored(known) ||
        (!S_ISDIR(now->st_mode) && now->st_nlink > 1))
        return rc;
    if (!rights_may_give_user(now->st_uid))
        return refuse_inode(wal, known, "owner");
    if (!rights_may_give_group(now->st_gid))
        return refuse_inode(wal, known, "group");
    rc = rights_lack_attributes(inode->fd);
    if (rc > 0)
        return refuse_inode(wal, known,
                            "security.* attributes (with CAP_SYS_ADMIN)");
    return rc < 0 ? rc : check_capability(wal, inode, known);
}

/* ---- projects ------------------------------------------------------------ */

/* Return the project of the staging folder, in which undo puts new inodes aside
 * and recreates removed ones (restore.c). */
static struct project staging_project(const struct wal *wal)
{
    struct stat log, root;
    bool same = sys_stat_fd(wal->dir, &log) == 0 &&
                sys_stat_fd(wal->root, &root) == 0 &&
                log.st_dev == root.st_dev &&
                sys_mount_of_fd(wal->dir) == sys_mount_of_fd(wal->root);

    return project_of_fd(same ? wal->dir : wal->root);
}

static bool may_set(const struct ic_inode *dir)
{
    struct stat st;

    return sys_stat_fd(dir->fd, &st) < 0 || rights_may_set_project(&st);
}

int capture_check_project(struct wal *wal, const struct ic_inode *dir,
                          const char *name, const struct stat *now)
{
    struct project here, staging, project;

    if (may_set(dir) ||
        (wal->plain_epoch == wal->epoch && wal->plain_dir == dir->ino))
        return 0;
    here = project_of_fd(dir->fd);
    staging = staging_project(wal);
    if (!here.inherits && !staging.inherits) {
        wal->plain_epoch = wal->epoch;
        wal->plain_dir = dir->ino;
        return 0;
    }
    if (staging.inherits && (!here.inherits || here.id != staging.id))
        return refuse(wal, name, "project");
    if (now && here.inherits && project_of_name(dir->fd, name, &project) == 0 &&
        project.id != here.id)
        return refuse(wal, name, "project");
    return 0;
}

int capture_check_remade(struct wal *wal, const struct ic_inode *dir,
                         const char *name, const struct stat *now)
{
    struct project project, staging;

    if (may_set(dir) || (!S_ISDIR(now->st_mode) && now->st_nlink > 1))
        return 0;
    if (project_of_name(dir->fd, name, &project) < 0) {
        project = project_of_fd(dir->fd);
        project.id = project.inherits ? project.id : 0;
    }
    staging = staging_project(wal);
    return project.id == (staging.inherits ? staging.id : 0)
               ? 0
               : refuse(wal, name, "project");
}

int capture_owner(struct wal *wal, struct ic_inode *inode, uid_t uid, gid_t gid)
{
    struct step_inode *known;
    struct stat st;
    int rc = capture_inode(wal, inode, &known);

    if (rc < 0 || !is_restored(known))
        return rc;
    rc = sys_stat_fd(inode->fd, &st);
    if (rc < 0)
        return rc;
    if (uid != (uid_t)-1 && uid != st.st_uid &&
        !rights_may_give_user(st.st_uid))
        return refuse_inode(wal, known, "owner");
    if (gid != (gid_t)-1 && gid != st.st_gid &&
        !rights_may_give_group(st.st_gid))
        return refuse_inode(wal, known, "group");
    return check_capability(wal, inode, known);
}

/* A rename within the folder keeps "..", so the kernel does not require write
 * permission on the directory itself; but undo moves it through another folder.
 */
int capture_rename(struct wal *wal, struct ic_inode *dir, const char *name,
                   const struct stat *now)
{
    fd_auto int fd = -1;

    if (!S_ISDIR(now->st_mode) || now->st_uid == geteuid() ||
        capture_may_go(wal, now))
        return 0;
    fd = sys_openat(dir->fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
    if (fd < 0)
        return fd;
    if (faccessat(fd, ".", W_OK, AT_EACCESS) == 0 || errno != EACCES)
        return 0;
    return refuse(wal, name, "name");
}
