/* SPDX-License-Identifier: Apache-2.0
 *
 * lookup - see interceptor.h: find and use inodes.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/log_name.h"
#include "common/fd.h"
#include "interceptor/engine/engine.h"
#include "interceptor/mutate/mutate_name.h"
#include "interceptor/sys/sys.h"

/* fds to release at once when none is left. */
enum { RELEASE_FDS = 64 };

struct ic_inode *ic_root(struct ic *ic)
{
    return ic->root;
}

/* An inode that is not found may be moving at this moment, by a change of names
 * or a rollback: look again while none runs. */
static int use_quietly(struct ic *ic, struct ic_inode *inode)
{
    int rc;

    pthread_rwlock_rdlock(&ic->gate);
    pthread_mutex_lock(&ic->names);
    rc = inode_use(inode);
    pthread_mutex_unlock(&ic->names);
    pthread_rwlock_unlock(&ic->gate);
    return rc;
}

int ic_inode_use(struct ic *ic, struct ic_inode *inode)
{
    int rc;

    if (inode_try_use(inode))
        return 0;
    rc = inode_use(inode);
    if (rc == -EMFILE && inode_table_release(ic->inodes, RELEASE_FDS) > 0)
        rc = inode_use(inode);
    return rc == -ESTALE ? use_quietly(ic, inode) : rc;
}

bool ic_inode_ref_open(struct ic_inode *inode)
{
    return inode_ref_open(inode);
}

unsigned ic_release_fds(struct ic *ic, unsigned n)
{
    return inode_table_release(ic->inodes, n);
}

static int lookup_by_opening(struct ic *ic, struct ic_inode *dir,
                             const char *name, struct ic_inode **ret_inode,
                             struct stat *ret_stat)
{
    unsigned n_moved = inode_table_n_moved(ic->inodes);
    fd_auto int fd = -1;
    uint64_t mount;
    int rc;

    fd = sys_openat(dir->fd, name, O_PATH | O_NOFOLLOW, 0);
    if (fd == -EMFILE && inode_table_release(ic->inodes, RELEASE_FDS) > 0)
        fd = sys_openat(dir->fd, name, O_PATH | O_NOFOLLOW, 0);
    if (fd < 0)
        return fd;
    rc = inode_table_stat(ic->inodes, fd, ret_stat, &mount);
    if (rc < 0)
        return rc;
    *ret_inode = inode_table_take(ic->inodes, fd_steal(&fd), ret_stat, mount,
                                  dir, name);
    inode_check_place(*ret_inode, dir, name, n_moved);
    return 0;
}

static int check_name(struct ic_inode *dir, const char *name)
{
    struct stat st;
    int rc = mutate_is_name(name) ? inode_check(dir) : -EINVAL;

    if (rc < 0 || !log_name_is(name))
        return rc;
    rc = sys_stat_name(dir->fd, name, &st);
    return rc < 0 ? rc : -EACCES;
}

int ic_lookup(struct ic *ic, struct ic_inode *dir, const char *name,
              struct ic_inode **ret_inode, struct stat *ret_stat)
{
    struct ic_inode *inode;
    struct stat st;
    int rc = check_name(dir, name);

    if (rc < 0)
        return rc;
    inode = inode_table_look(ic->inodes, dir, name, &st);
    if (!inode)
        rc = lookup_by_opening(ic, dir, name, &inode, &st);
    if (rc < 0)
        return rc;
    inode_note_found(inode);
    if (ret_stat) {
        inode_take_stat(inode, &st);
        *ret_stat = st;
    }
    *ret_inode = inode;
    return 0;
}

/* Turn the reference into a hold. */
static void hold_only(struct ic_inode *inode)
{
    ic_inode_hold(inode);
    ic_inode_unref(inode);
}

/* Look a name up, without opening the inode if possible. */
static int meet(struct ic *ic, struct ic_inode *dir, const char *name,
                enum inode_meeting meeting, struct ic_inode **ret_inode,
                struct stat *ret_stat)
{
    int rc = inode_table_meet(ic->inodes, dir, name, meeting, ret_inode,
                              ret_stat);

    if (rc != -EAGAIN)
        return rc;
    rc = lookup_by_opening(ic, dir, name, ret_inode, ret_stat);
    if (rc == 0)
        hold_only(*ret_inode);
    return rc;
}

int ic_lookup_lazy(struct ic *ic, struct ic_inode *dir, const char *name,
                   struct ic_inode **ret_inode, struct stat *ret_stat)
{
    int rc = check_name(dir, name);

    if (rc == 0)
        rc = meet(ic, dir, name, INODE_LISTED, ret_inode, ret_stat);
    if (rc < 0)
        return rc;
    inode_note_found(*ret_inode);
    inode_take_stat(*ret_inode, ret_stat);
    return 0;
}

int ic_lookup_uncached(struct ic *ic, struct ic_inode *dir, const char *name,
                       struct ic_inode **ret_inode, struct stat *ret_stat)
{
    struct ic_inode *inode;
    int rc = check_name(dir, name);

    if (rc < 0)
        return rc;
    inode = inode_table_look(ic->inodes, dir, name, ret_stat);
    if (inode)
        hold_only(inode);
    else
        rc = meet(ic, dir, name, INODE_LOOKED_UP, &inode, ret_stat);
    if (rc < 0)
        return rc;
    inode_note_found(inode);
    inode_take_stat(inode, ret_stat);
    *ret_inode = inode;
    return 0;
}

static bool is_log_folder(int above, const struct stat *st)
{
    struct stat logs;

    return sys_stat_name(above, LOG_NAME, &logs) == 0 &&
           logs.st_ino == st->st_ino && logs.st_dev == st->st_dev;
}

/* Return whether this directory is the share's root or below it, and not in an
 * undo log of a folder there. A directory that the client still has open may be
 * in the undo log by now, or in another one, or moved away: from there ".."
 * leads anywhere. */
static int check_below_root(struct ic *ic, int dirfd)
{
    fd_auto int at = sys_openat(dirfd, ".", O_PATH | O_DIRECTORY, 0);
    struct stat st, above;
    int rc = at < 0 ? at : sys_stat_fd(at, &st);

    while (rc == 0 && (st.st_ino != ic->root->ino || st.st_dev != ic->dev)) {
        int up = sys_openat(at, "..", O_PATH | O_DIRECTORY, 0);

        rc = up < 0 ? up : sys_stat_fd(up, &above);
        if (rc == 0 && above.st_ino == st.st_ino && above.st_dev == st.st_dev)
            rc = -ENOENT; /* the host's root */
        if (rc == 0 && is_log_folder(up, &st))
            rc = -ENOENT;
        fd_close(&at);
        at = up;
        st = above;
    }
    return rc;
}

int ic_lookup_parent(struct ic *ic, struct ic_inode *dir,
                     struct ic_inode **ret_inode)
{
    fd_auto int fd = -1;
    struct stat st;
    int rc;

    if (dir == ic->root) {
        *ret_inode = ic_inode_ref(dir);
        return 0;
    }
    fd = sys_openat(dir->fd, "..", O_PATH | O_DIRECTORY, 0);
    if (fd < 0)
        return fd;
    rc = check_below_root(ic, fd);
    if (rc == 0)
        rc = sys_stat_fd(fd, &st);
    if (rc < 0)
        return rc;
    *ret_inode = inode_table_take(ic->inodes, fd_steal(&fd), &st, 0, NULL,
                                  NULL);
    return 0;
}

int ic_stat(struct ic *ic, struct ic_inode *inode, struct stat *ret_stat)
{
    int rc = sys_stat_fd(inode->fd, ret_stat);

    if (rc == 0)
        inode_take_stat(inode, ret_stat);
    return rc;
}

int ic_statvfs(struct ic *ic, struct ic_inode *inode,
               struct statvfs *ret_statvfs)
{
    /* Read first: space freed in between counts twice or once, never not at
     * all. */
    int64_t freeing = inode->dev == ic->dev ? inode_table_freeing(ic->inodes)
                                            : 0;
    fsblkcnt_t blocks, used;

    if (fstatvfs(inode->fd, ret_statvfs) != 0)
        return -errno;
    blocks = ret_statvfs->f_frsize > 0
                 ? (fsblkcnt_t)freeing / ret_statvfs->f_frsize
                 : 0;
    used = ret_statvfs->f_blocks - ret_statvfs->f_bfree;
    ret_statvfs->f_bfree += MIN(blocks, used);
    ret_statvfs->f_bavail += MIN(blocks, used);
    return 0;
}

int ic_stat_held(struct ic *ic, struct ic_inode *inode, struct stat *ret_stat)
{
    int rc = 0;

    if (!inode_try_use(inode)) {
        if (inode_stat_held(inode, ret_stat) == 0) {
            inode_take_stat(inode, ret_stat);
            return 0;
        }
        rc = ic_inode_use(ic, inode);
    }
    if (rc < 0)
        return rc;
    rc = ic_stat(ic, inode, ret_stat);
    ic_inode_unref(inode);
    return rc;
}
