/* SPDX-License-Identifier: Apache-2.0
 *
 * mutate - the mutation layer: creation of names.
 *
 * Every change that a client makes to the share goes through this file,
 * mutate_remove.c, mutate_rename.c, or, for changes of inodes, mutate_inode.c,
 * and nowhere else. Each function has the same order: enter the gate, ensure an
 * open step, capture, change.
 *
 * M1  The record of a change is in the log before the change is made.
 * M2  The state that a change destroys is in the log before it is gone.
 * M3  A change that fails after its capture leaves records of something that
 *     did not change. That is harmless: undo restores it to the same state.
 *
 * A removed name is renamed into the log (blobs/i<ino>): the inode lives on
 * there with everything it had.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log_name.h"
#include "common/fd.h"
#include "interceptor/engine/durable.h"
#include "interceptor/engine/gate.h"
#include "interceptor/engine/grants.h"
#include "interceptor/engine/writing.h"
#include "interceptor/mutate/mutate.h"
#include "interceptor/mutate/mutate_again.h"
#include "interceptor/mutate/mutate_name.h"
#include "interceptor/sys/as_user.h"
#include "interceptor/sys/sys.h"

/* ---- begin and end of a change of names ---------------------------------- */

bool mutate_is_removed(const struct ic_inode *dir)
{
    return atomic_load(&dir->log_links) > 0;
}

int mutate_begin(struct ic *ic, struct ic_inode *dir, const char *name)
{
    int rc;

    if (name && !mutate_is_name(name))
        return -EINVAL;
    if (name && log_name_is(name))
        return -EPERM;
    rc = engine_enter(ic, dir);
    if (rc < 0)
        return rc;
    durable_begin(ic);
    pthread_mutex_lock(&ic->names);
    rc = mutate_is_removed(dir) ? -ENOENT : engine_need_step(ic);
    return rc < 0 ? mutate_finish(ic, rc) : 0;
}

int mutate_finish(struct ic *ic, int rc)
{
    pthread_mutex_unlock(&ic->names);
    durable_end(ic);
    engine_leave(ic);
    return rc;
}

/* ---- creating ------------------------------------------------------------ */

/* A name that cannot be examined must not be recorded as absent: undo would
 * remove the inode there. */
static int check_free(struct ic_inode *dir, const char *name)
{
    struct stat st;
    int rc = sys_stat_name(dir->fd, name, &st);

    return rc == 0 ? -EEXIST : rc == -ENOENT ? 0 : rc;
}

/* If nothing needs to be recorded, the call that makes the name (and replaces
 * nothing) detects a conflict itself. */
static int check_new(struct ic *ic, struct ic_inode *dir, const char *name)
{
    return !ic->undo_dir || (core_captures(ic) &&
                             capture_has_binding(&ic->wal, dir, name))
               ? 0
               : check_free(dir, name);
}

/* The inode that make_node() makes. */
struct node {
    mode_t mode; /* includes S_IFMT */
    dev_t rdev;
    const char *target;
};

static int make_node(struct ic *ic, const struct ic_cred *cred, int dirfd,
                     const char *name, const struct node *node)
{
    mode_t mode = node->mode & ~cred->umask;
    int rc = as_user_begin(ic->switch_ids, cred);

    if (rc < 0)
        return rc;
    if (S_ISDIR(node->mode))
        rc = sys_mkdirat(dirfd, name, mode & 07777);
    else if (S_ISLNK(node->mode))
        rc = sys_symlinkat(node->target, dirfd, name);
    else
        rc = sys_mknodat(dirfd, name, mode, node->rdev);
    as_user_end(ic->switch_ids, cred);
    return rc;
}

/* Return the inode just made. If that fails (no fd is left, for example),
 * remove it: the client will see an error. */
static int take_created(struct ic *ic, struct ic_inode *dir, const char *name,
                        bool is_dir, struct ic_inode **ret_inode,
                        struct stat *ret_stat)
{
    struct stat st;
    int rc = ic_lookup(ic, dir, name, ret_inode, &st);

    if (rc < 0) {
        sys_unlinkat(dir->fd, name, is_dir ? AT_REMOVEDIR : 0);
        return rc;
    }
    if (core_captures(ic))
        capture_note_created(&ic->wal, *ret_inode);
    writing_note_locked(ic, *ret_inode);
    if (ret_stat)
        *ret_stat = st;
    return 0;
}

/* Begin to create a name. On success the caller ends with mutate_finish(). */
static int begin_create(struct ic *ic, struct ic_inode *dir, const char *name)
{
    int rc = mutate_begin(ic, dir, name);

    if (rc < 0)
        return rc;
    rc = check_new(ic, dir, name);
    if (rc == 0 && core_captures(ic))
        rc = capture_binding(&ic->wal, dir, name, NULL);
    if (rc == 0)
        rc = durable_check(ic);
    if (rc < 0)
        return mutate_finish(ic, rc);
    writing_note_name(ic, dir, name);
    return 0;
}

static int create_node_once(struct ic *ic, const struct ic_cred *cred,
                            struct ic_inode *dir, const char *name,
                            const struct node *node,
                            struct ic_inode **ret_inode, struct stat *ret_stat)
{
    int rc = begin_create(ic, dir, name);

    if (rc < 0)
        return rc;
    rc = make_node(ic, cred, dir->fd, name, node);
    if (rc == 0)
        rc = take_created(ic, dir, name, S_ISDIR(node->mode), ret_inode,
                          ret_stat);
    return mutate_finish(ic, rc);
}

static int create_node(struct ic *ic, const struct ic_cred *cred,
                       struct ic_inode *dir, const char *name,
                       const struct node *node, struct ic_inode **ret_inode,
                       struct stat *ret_stat)
{
    return MUTATE_WITH_ROOM(
        ic, limits_make_room,
        create_node_once(ic, cred, dir, name, node, ret_inode, ret_stat));
}

int ic_mkdirat(struct ic *ic, const struct ic_cred *cred, struct ic_inode *dir,
               const char *name, mode_t mode, struct ic_inode **ret_inode,
               struct stat *ret_stat)
{
    struct node node = { .mode = S_IFDIR | (mode & 07777) };

    return create_node(ic, cred, dir, name, &node, ret_inode, ret_stat);
}

int ic_mknodat(struct ic *ic, const struct ic_cred *cred, struct ic_inode *dir,
               const char *name, mode_t mode, dev_t rdev,
               struct ic_inode **ret_inode, struct stat *ret_stat)
{
    struct node node = { .mode = mode, .rdev = rdev };

    int rc;

    if ((mode & S_IFMT) == 0)
        node.mode |= S_IFREG;
    if (S_ISDIR(mode) || S_ISLNK(mode))
        return -EINVAL;
    rc = grants_check_node(ic, node.mode, rdev);
    if (rc < 0)
        return rc;
    return create_node(ic, cred, dir, name, &node, ret_inode, ret_stat);
}

int ic_symlinkat(struct ic *ic, const struct ic_cred *cred, const char *target,
                 struct ic_inode *dir, const char *name,
                 struct ic_inode **ret_inode, struct stat *ret_stat)
{
    struct node node = { .mode = S_IFLNK | 0777, .target = target };

    return create_node(ic, cred, dir, name, &node, ret_inode, ret_stat);
}

static int create_file(struct ic *ic, const struct ic_cred *cred,
                       struct ic_inode *dir, const char *name, int flags,
                       mode_t mode)
{
    int fd = as_user_begin(ic->switch_ids, cred);

    if (fd < 0)
        return fd;
    fd = sys_openat(dir->fd, name, flags, mode & 07777 & ~cred->umask);
    as_user_end(ic->switch_ids, cred);
    return fd;
}

/* Open flags that a client may set. O_NONBLOCK: never wait for a peer. */
static int open_flags(int flags)
{
    return (flags & (O_ACCMODE | O_APPEND | O_DIRECT | O_SYNC | O_DSYNC |
                     O_NOATIME | O_TRUNC)) |
           O_NOFOLLOW | O_NONBLOCK;
}

/* The name exists: open its inode. */
static int open_existing(struct ic *ic, struct ic_inode *dir, const char *name,
                         int flags, struct ic_inode **ret_inode,
                         struct stat *ret_stat, int *ret_fd)
{
    struct ic_inode *inode;
    struct stat st;
    int rc = ic_lookup(ic, dir, name, &inode, &st);

    if (rc < 0)
        return rc;
    rc = ic_open(ic, inode, flags, ret_fd);
    if (rc == 0 && flags & O_TRUNC)
        rc = ic_stat(ic, inode, &st);
    if (rc < 0) {
        ic_inode_unref(inode);
        return rc;
    }
    *ret_inode = inode;
    if (ret_stat)
        *ret_stat = st;
    return 0;
}

static int create_once(struct ic *ic, const struct ic_cred *cred,
                       struct ic_inode *dir, const char *name, int flags,
                       mode_t mode, struct ic_inode **ret_inode,
                       struct stat *ret_stat, int *ret_fd)
{
    fd_auto int fd = -1;
    int rc = begin_create(ic, dir, name);

    if (rc < 0)
        return rc;
    fd = create_file(ic, cred, dir, name, open_flags(flags) | O_CREAT | O_EXCL,
                     mode);
    rc = MIN(fd, 0);
    if (rc == 0)
        rc = take_created(ic, dir, name, false, ret_inode, ret_stat);
    if (rc == 0)
        *ret_fd = fd_steal(&fd);
    return mutate_finish(ic, rc);
}

int ic_create(struct ic *ic, const struct ic_cred *cred, struct ic_inode *dir,
              const char *name, int flags, mode_t mode,
              struct ic_inode **ret_inode, struct stat *ret_stat, int *ret_fd)
{
    int rc = grants_check_mode(ic, S_IFREG | (mode & 07777));

    if (rc < 0)
        return rc;
    rc = -ENOENT;
    /* Between the two tries another process may make or remove the name. */
    for (int i = 0; i < MUTATE_RACE_TRIES && rc == -ENOENT; i++) {
        rc = MUTATE_WITH_ROOM(ic, limits_make_room,
                              create_once(ic, cred, dir, name, flags, mode,
                                          ret_inode, ret_stat, ret_fd));
        if (rc != -EEXIST || flags & O_EXCL)
            return rc;
        rc = open_existing(ic, dir, name, flags, ret_inode, ret_stat, ret_fd);
    }
    return rc;
}

static int tmpfile_once(struct ic *ic, const struct ic_cred *cred,
                        struct ic_inode *dir, int flags, mode_t mode,
                        struct ic_inode **ret_inode, struct stat *ret_stat,
                        int *ret_fd)
{
    int open_as = (open_flags(flags) & ~O_NOFOLLOW) | O_TMPFILE;
    fd_auto int fd = -1, path_fd = -1;
    struct stat st;
    int rc = mutate_begin(ic, dir, NULL);

    if (rc < 0)
        return rc;
    if (flags & O_EXCL)
        open_as |= O_EXCL;
    fd = create_file(ic, cred, dir, ".", open_as, mode);
    path_fd = fd < 0 ? fd : sys_reopen(fd, O_PATH);
    rc = path_fd < 0 ? path_fd : sys_stat_fd(path_fd, &st);
    if (rc == 0) {
        *ret_inode = inode_table_take(ic->inodes, fd_steal(&path_fd), &st, 0,
                                      NULL, NULL);
        if (core_captures(ic))
            capture_note_unnamed(&ic->wal, *ret_inode);
        *ret_fd = fd_steal(&fd);
        if (ret_stat)
            *ret_stat = st;
    }
    return mutate_finish(ic, rc);
}

int ic_tmpfile(struct ic *ic, const struct ic_cred *cred, struct ic_inode *dir,
               int flags, mode_t mode, struct ic_inode **ret_inode,
               struct stat *ret_stat, int *ret_fd)
{
    int rc = grants_check_mode(ic, S_IFREG | (mode & 07777));

    return rc < 0 ? rc
                  : MUTATE_WITH_ROOM(ic, limits_make_room,
                                     tmpfile_once(ic, cred, dir, flags, mode,
                                                  ret_inode, ret_stat, ret_fd));
}

/* The log's links do not count for the client: a removed file cannot be linked
 * again. But a file that never had a name can. */
static int check_linkable(struct ic_inode *inode, bool *ret_unnamed)
{
    struct stat st;
    int rc = S_ISDIR(inode->type) ? -EPERM : sys_stat_fd(inode->fd, &st);

    if (rc < 0)
        return rc;
    *ret_unnamed = st.st_nlink == 0;
    return st.st_nlink > 0 && st.st_nlink <= atomic_load(&inode->log_links)
               ? -ENOENT
               : 0;
}

static int link_once(struct ic *ic, struct ic_inode *inode,
                     struct ic_inode *dir, const char *name,
                     struct stat *ret_stat)
{
    bool unnamed = false;
    int rc = inode_check(
        inode); /* before a step begins, since that ends redo */

    if (rc == 0)
        rc = mutate_begin(ic, dir, name);
    if (rc < 0)
        return rc;
    if (engine_is_mounted(ic, inode))
        return mutate_finish(ic, -EXDEV);
    rc = inode_check(inode);
    if (rc == 0)
        rc = check_free(dir, name);
    if (rc == 0)
        rc = check_linkable(inode, &unnamed);
    /* Record its home while the tree still shows it: the new name is not its
     * home. */
    if (rc == 0 && core_captures(ic))
        rc = capture_link(&ic->wal, inode);
    if (rc == 0 && core_captures(ic))
        rc = capture_binding(&ic->wal, dir, name, NULL);
    if (rc == 0)
        rc = durable_check(ic);
    if (rc == 0)
        rc = sys_link_fd(inode->fd, dir->fd, name);
    if (rc == 0) {
        inode_set_place(inode, dir, name);
        /* Made in an earlier step, but new in the tree. */
        if (unnamed && core_captures(ic))
            capture_note_created(&ic->wal, inode);
        if (core_captures(ic))
            capture_note_linked(&ic->wal, inode);
        writing_note_name(ic, dir, name);
        writing_note_locked(ic, inode);
        if (ret_stat)
            rc = ic_stat(ic, inode, ret_stat);
    }
    return mutate_finish(ic, rc);
}

int ic_linkat(struct ic *ic, struct ic_inode *inode, struct ic_inode *dir,
              const char *name, struct stat *ret_stat)
{
    return MUTATE_WITH_ROOM(ic, limits_make_room,
                            link_once(ic, inode, dir, name, ret_stat));
}
