/* SPDX-License-Identifier: Apache-2.0
 *
 * win_make - names as a client of the Windows profile makes them
 * (profile_windows.c).
 *
 * What is made is made with the host's own metadata first, and gets its row
 * then, where it needs one: two changes. Its folder is locked meanwhile, so
 * that no other request finds it without. If the second one is parked, the
 * request keeps what was made (struct p9_making) and goes on from there; if it
 * fails, what was made is removed. A crash takes the step back, and both.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "p9/profile/win_names.h"
#include "p9/profile/win_share.h"

enum { HOST_FILE_MODE = 0644, HOST_DIR_MODE = 0755, RACES = 3 };

/* ---- locks --------------------------------------------------------------- */

static pthread_rwlock_t *lock_of(struct win_share *share,
                                 const struct ic_inode *dir)
{
    uint64_t mixed = (uint64_t)ic_inode_ino(dir) * 0x9e3779b97f4a7c15u;

    return &share->locks[(mixed >> 32) % WIN_LOCKS];
}

static void lock_two(struct win_share *share, const struct ic_inode *a,
                     const struct ic_inode *b)
{
    pthread_rwlock_t *x = lock_of(share, a), *y = lock_of(share, b);

    pthread_rwlock_wrlock(MIN(x, y));
    if (x != y)
        pthread_rwlock_wrlock(MAX(x, y));
}

static void unlock_two(struct win_share *share, const struct ic_inode *a,
                       const struct ic_inode *b)
{
    pthread_rwlock_t *x = lock_of(share, a), *y = lock_of(share, b);

    pthread_rwlock_unlock(x);
    if (x != y)
        pthread_rwlock_unlock(y);
}

int win_lookup(void *state, struct ic_inode *dir, const char *name,
               struct ic_inode **ret_inode, struct stat *ret_stat)
{
    struct win_share *share = state;
    pthread_rwlock_t *lock = lock_of(share, dir);
    int r;

    pthread_rwlock_rdlock(lock);
    r = ic_lookup(share->ic, dir, name, ret_inode, ret_stat);
    if (r == 0)
        win_show(share, *ret_inode, name, ret_stat);
    pthread_rwlock_unlock(lock);
    return r;
}

/* ---- is the name free? (with the folder locked) -------------------------- */

/* 1: there is this very name. 0: there is neither it nor one that differs in
 * case alone (but except). Else -errno. */
static int look_for(struct win_share *share, struct ic_inode *dir,
                    const char *name, const char *except,
                    struct ic_inode **ret_inode)
{
    int r = ic_lookup(share->ic, dir, name, ret_inode, NULL);

    if (r != -ENOENT)
        return r == 0 ? 1 : r;
    r = case_index_collides(share->index, dir, name, except);
    return r > 0 ? -EEXIST : r;
}

static int check_free(struct win_share *share, const struct p9_new *new)
{
    struct ic_inode *there;
    int r = look_for(share, new->dir, new->name, NULL, &there);

    if (r == 1) {
        ic_inode_unref(there);
        r = -EEXIST;
    }
    return r;
}

/* ---- what is made -------------------------------------------------------- */

/* Of the same owner as its folder. */
static int host_cred(struct win_share *share, const struct p9_new *new,
                     struct ic_cred *ret_cred)
{
    struct stat st;
    int r = ic_stat(share->ic, new->dir, &st);

    *ret_cred = (struct ic_cred){ .uid = st.st_uid, .gid = st.st_gid };
    return r;
}

/* Root's files belong to nobody in particular, as all on such a host do; users
 * beside the one that it plays must be able to open their own. */
static struct overlay_row wanted_row(struct win_share *share,
                                     const struct p9_new *new, mode_t type)
{
    bool other = new->cred->uid != 0 && new->cred->uid != WIN_UID;
    struct overlay_row row = { .mode = new->mode & 07777,
                               .uid = other ? new->cred->uid : WIN_UID,
                               .gid = other ? new->cred->gid : WIN_GID };
    struct overlay_row dir;

    if (!overlay_has_set_ids(share->overlay) ||
        !win_find_row(share, new->dir, &dir) || !(dir.mode & S_ISGID))
        return row;
    row.gid = dir.gid;
    if (S_ISDIR(type))
        row.mode |= S_ISGID;
    return row;
}

static bool is_default(const struct overlay_row *row, mode_t type,
                       const char *name)
{
    struct overlay_row made_up = win_default(type, name);

    return row->mode == made_up.mode && row->uid == made_up.uid &&
           row->gid == made_up.gid && !row->symlink;
}

/* It stays as it is until the request is tried again. */
static int keep_half(const struct p9_new *new, const struct p9_made *made)
{
    new->making->inode = made->inode;
    new->making->fd = made->fd;
    return IC_PARKED;
}

/* It could not be finished, and must not stay. */
static int give_up(struct win_share *share, const struct p9_new *new,
                   struct p9_made *made, int r)
{
    bool is_dir = S_ISDIR(ic_inode_type(made->inode));

    ic_unlinkat(share->ic, new->dir, new->name, is_dir ? AT_REMOVEDIR : 0);
    fd_close(&made->fd);
    ic_inode_unref(made->inode);
    return r;
}

/* The second change, if there is anything to say; and what came of it. */
static int finish(struct win_share *share, const struct p9_new *new,
                  const struct overlay_row *row, struct p9_made *made)
{
    int r = 0;

    if (!is_default(row, ic_inode_type(made->inode), new->name))
        r = win_set_row(share, made->inode, row);
    if (r == IC_PARKED)
        return keep_half(new, made);
    if (r == 0)
        r = win_get(share, made->inode, new->name, &made->st);
    return r < 0 ? give_up(share, new, made, r) : 0;
}

/* What an earlier try of the request has made. */
static bool go_on(const struct p9_new *new, struct p9_made *made)
{
    made->inode = g_steal_pointer(&new->making->inode);
    made->fd = made->inode ? new->making->fd : -1;
    return made->inode != NULL;
}

/* ---- files --------------------------------------------------------------- */

static int open_old(struct win_share *share, const struct p9_new *new,
                    int flags, struct ic_inode *inode, struct p9_made *made)
{
    static const struct ic_cred nobody;
    int r = flags & O_EXCL                    ? -EEXIST
            : S_ISLNK(win_type(share, inode)) ? -ELOOP
                                              : 0;

    if (r < 0)
        return r;
    r = ic_create(share->ic, &nobody, new->dir, new->name, flags,
                  HOST_FILE_MODE, &made->inode, &made->st, &made->fd);
    if (r == 0)
        win_show(share, made->inode, new->name, &made->st);
    return r;
}

static int make_file(struct win_share *share, const struct p9_new *new,
                     int flags, struct p9_made *made)
{
    struct ic_cred cred;
    int r = host_cred(share, new, &cred);

    return r < 0 ? r
                 : ic_create(share->ic, &cred, new->dir, new->name,
                             flags | O_EXCL, HOST_FILE_MODE, &made->inode,
                             &made->st, &made->fd);
}

/* *ret_old: it was there, and needs no row. */
static int create(struct win_share *share, const struct p9_new *new, int flags,
                  struct p9_made *made, bool *ret_old)
{
    struct ic_inode *there;
    int r = -EEXIST;

    /* Others on the host make names as well. */
    for (int i = 0; r == -EEXIST && i < RACES; i++) {
        r = look_for(share, new->dir, new->name, NULL, &there);
        *ret_old = r == 1;
        if (r == -EEXIST)
            break;
        if (r == 1) {
            r = open_old(share, new, flags, there, made);
            ic_inode_unref(there);
        } else if (r == 0) {
            r = make_file(share, new, flags, made);
        }
        if (flags & O_EXCL)
            break;
    }
    return r;
}

int win_create(void *state, const struct p9_new *new, int flags,
               struct p9_made *ret_made)
{
    struct win_share *share = state;
    struct overlay_row row = wanted_row(share, new, S_IFREG);
    struct p9_made made;
    bool old = false;
    int r = 0;

    lock_two(share, new->dir, new->dir);
    if (!go_on(new, &made))
        r = create(share, new, flags, &made, &old);
    if (r == 0 && !old)
        r = finish(share, new, &row, &made);
    unlock_two(share, new->dir, new->dir);
    if (r == 0)
        *ret_made = made;
    return r;
}

int win_make_node(void *state, const struct p9_new *new, dev_t rdev,
                  struct p9_made *ret_made)
{
    int r;

    if (!S_ISREG(new->mode))
        return -EPERM;
    r = win_create(state, new, O_WRONLY | O_EXCL, ret_made);
    if (r == 0)
        fd_close(&ret_made->fd);
    return r;
}

/* ---- folders and symlinks ------------------------------------------------ */

static int make_dir(struct win_share *share, const struct p9_new *new,
                    struct p9_made *made)
{
    struct ic_cred cred;
    int r = check_free(share, new);

    if (r == 0)
        r = host_cred(share, new, &cred);
    return r < 0 ? r
                 : ic_mkdirat(share->ic, &cred, new->dir, new->name,
                              HOST_DIR_MODE, &made->inode, &made->st);
}

int win_make_dir(void *state, const struct p9_new *new,
                 struct p9_made *ret_made)
{
    struct win_share *share = state;
    struct overlay_row row = wanted_row(share, new, S_IFDIR);
    struct p9_made made;
    int r = 0;

    lock_two(share, new->dir, new->dir);
    if (!go_on(new, &made))
        r = make_dir(share, new, &made);
    if (r == 0)
        r = finish(share, new, &row, &made);
    unlock_two(share, new->dir, new->dir);
    if (r == 0)
        *ret_made = made;
    return r;
}

/* All of it, from the start: once more is no harm. */
static int write_target(struct win_share *share, const struct p9_made *made,
                        const char *target)
{
    size_t done = 0, len = strlen(target);

    while (done < len) {
        struct iovec iov = { (void *)(target + done), len - done };
        ssize_t n = ic_pwritev(share->ic, made->inode, made->fd, &iov, 1,
                               (off_t)done, 0, false);

        if (n <= 0)
            return n < 0 ? (int)n : -EIO;
        done += (size_t)n;
    }
    return 0;
}

static int fill_symlink(struct win_share *share, const struct p9_new *new,
                        const char *target, struct p9_made *made)
{
    struct overlay_row row = wanted_row(share, new, S_IFLNK);
    int r = write_target(share, made, target);

    if (r == IC_PARKED)
        return keep_half(new, made);
    if (r < 0)
        return give_up(share, new, made, r);
    row.symlink = true;
    row.mode = 0777;
    r = finish(share, new, &row, made);
    if (r == 0)
        fd_close(&made->fd);
    return r;
}

int win_make_symlink(void *state, const struct p9_new *new, const char *target,
                     struct p9_made *ret_made)
{
    struct win_share *share = state;
    struct p9_made made;
    int r = *target ? 0 : -ENOENT;

    if (r < 0)
        return r;
    lock_two(share, new->dir, new->dir);
    if (!go_on(new, &made)) {
        r = check_free(share, new);
        if (r == 0)
            r = make_file(share, new, O_WRONLY, &made);
    }
    if (r == 0)
        r = fill_symlink(share, new, target, &made);
    unlock_two(share, new->dir, new->dir);
    if (r == 0)
        *ret_made = made;
    return r;
}

/* ---- other names --------------------------------------------------------- */

/* What was made up for the old name would be otherwise under the new one. */
static int keep_mode(struct win_share *share, struct ic_inode *inode,
                     const char *from, const char *to)
{
    mode_t type = ic_inode_type(inode);
    struct overlay_row row, old = win_default(type, from);

    if (is_default(&old, type, to) || win_find_row(share, inode, &row))
        return 0;
    return win_set_row(share, inode, &old);
}

int win_link(void *state, struct ic_inode *inode, const char *from,
             struct ic_inode *dir, const char *name)
{
    struct win_share *share = state;
    struct p9_new new = { .dir = dir, .name = name };
    int r;

    lock_two(share, dir, dir);
    r = check_free(share, &new);
    if (r == 0)
        r = keep_mode(share, inode, from, name);
    if (r == 0)
        r = ic_linkat(share->ic, inode, dir, name, NULL);
    unlock_two(share, dir, dir);
    return r;
}

static int move(struct win_share *share, struct ic_inode *old_dir,
                const char *old_name, struct ic_inode *new_dir,
                const char *new_name)
{
    struct ic_inode *inode, *there = NULL;
    int r = ic_lookup(share->ic, old_dir, old_name, &inode, NULL);

    if (r < 0)
        return r;
    /* A name may change its own case. */
    r = look_for(share, new_dir, new_name, old_dir == new_dir ? old_name : NULL,
                 &there);
    if (r == 1)
        ic_inode_unref(there);
    if (r >= 0)
        r = keep_mode(share, inode, old_name, new_name);
    ic_inode_unref(inode);
    return r != 0 ? r
                  : ic_renameat2(share->ic, old_dir, old_name, new_dir,
                                 new_name, 0);
}

int win_rename(void *state, struct ic_inode *old_dir, const char *old_name,
               struct ic_inode *new_dir, const char *new_name)
{
    struct win_share *share = state;
    int r;

    lock_two(share, old_dir, new_dir);
    r = move(share, old_dir, old_name, new_dir, new_name);
    unlock_two(share, old_dir, new_dir);
    return r;
}
