/* SPDX-License-Identifier: Apache-2.0
 *
 * win_make - create names for clients of the Windows profile
 * (profile_windows.c).
 *
 * An object is created with the host's own metadata first, and then gets its
 * row if it needs one: two changes. Its directory is locked in the meantime, so
 * that no other request finds it without its row. If the second change is
 * parked, the request keeps the created object (struct p9_making) and continues
 * from there; if it fails, the object is removed. After a crash, recovery rolls
 * back the step, and thus both changes.
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

/* ---- is the name free? (the directory is locked) ------------------------- */

/* Return 1 if this very name exists, 0 if neither it nor one that differs only
 * in case (other than except) exists, else -errno. */
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

/* ---- creation ------------------------------------------------------------ */

/* Create with the owner of the directory. */
static int host_cred(struct win_share *share, const struct p9_new *new,
                     struct ic_cred *ret_cred)
{
    struct stat st;
    int r = ic_stat(share->ic, new->dir, &st);

    *ret_cred = (struct ic_cred){ .uid = st.st_uid, .gid = st.st_gid };
    return r;
}

/* Return the row of a new object. Root's files get the default owner, as all
 * files on such a host; any user other than the emulated one must be able to
 * open their own files. */
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

/* Keep the partial result until the request is retried. */
static int park_made(const struct p9_new *new, const struct p9_made *made)
{
    new->making->inode = made->inode;
    new->making->fd = made->fd;
    return IC_PARKED;
}

/* Remove an object that could not be completed. */
static int discard_made(struct win_share *share, const struct p9_new *new,
                        struct p9_made *made, int r)
{
    bool is_dir = S_ISDIR(ic_inode_type(made->inode));

    ic_unlinkat(share->ic, new->dir, new->name, is_dir ? AT_REMOVEDIR : 0);
    fd_close(&made->fd);
    ic_inode_unref(made->inode);
    return r;
}

/* Do the second change, if a row is needed, and fill in the result. */
static int finish(struct win_share *share, const struct p9_new *new,
                  const struct overlay_row *row, struct p9_made *made)
{
    int r = 0;

    if (!is_default(row, ic_inode_type(made->inode), new->name))
        r = win_set_row(share, made->inode, row);
    if (r == IC_PARKED)
        return park_made(new, made);
    if (r == 0)
        r = win_get(share, made->inode, new->name, &made->st);
    return r < 0 ? discard_made(share, new, made, r) : 0;
}

/* Continue with the partial result of an earlier try of the request. */
static bool resume_made(const struct p9_new *new, struct p9_made *made)
{
    made->inode = g_steal_pointer(&new->making->inode);
    made->fd = made->inode ? new->making->fd : -1;
    return made->inode != NULL;
}

/* ---- files --------------------------------------------------------------- */

static int open_old(struct win_share *share, const struct p9_new *new,
                    int flags, struct ic_inode *inode, struct p9_made *made)
{
    static const struct ic_cred unset;
    int r = flags & O_EXCL                    ? -EEXIST
            : S_ISLNK(win_type(share, inode)) ? -ELOOP
                                              : 0;

    if (r < 0)
        return r;
    r = ic_create(share->ic, &unset, new->dir, new->name, flags, HOST_FILE_MODE,
                  &made->inode, &made->st, &made->fd);
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

/* Open or create the file. *ret_old: it existed, and needs no row. */
static int create(struct win_share *share, const struct p9_new *new, int flags,
                  struct p9_made *made, bool *ret_old)
{
    struct ic_inode *there;
    int r = -EEXIST;

    /* Retry: other programs on the host create names, too. */
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
    if (!resume_made(new, &made))
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
    if (!resume_made(new, &made))
        r = make_dir(share, new, &made);
    if (r == 0)
        r = finish(share, new, &row, &made);
    unlock_two(share, new->dir, new->dir);
    if (r == 0)
        *ret_made = made;
    return r;
}

/* Write all of it, from the start, so that a retry is safe. */
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
        return park_made(new, made);
    if (r < 0)
        return discard_made(share, new, made, r);
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
    if (!resume_made(new, &made)) {
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

/* ---- links and renames --------------------------------------------------- */

/* Store the default metadata of the old name, if the new name's would
 * differ. */
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
    /* A rename may change only the case of a name. */
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
