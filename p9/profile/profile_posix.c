/* SPDX-License-Identifier: Apache-2.0
 *
 * profile_posix - shows the host's files to clients unchanged (profile.h).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/proc_fd.h"
#include "p9/profile/profile_posix.h"

static void *start(struct ic *ic, const struct p9_profile_options *options,
                   GError **error)
{
    return ic;
}

static void end(void *state)
{
}

/* ---- lookup -------------------------------------------------------------- */

static int lookup(void *state, struct ic_inode *dir, const char *name,
                  struct ic_inode **ret_inode, struct stat *ret_stat)
{
    return ic_lookup(state, dir, name, ret_inode, ret_stat);
}

static int check_name(void *state, const char *name)
{
    return 0;
}

static mode_t type(void *state, struct ic_inode *inode)
{
    return ic_inode_type(inode);
}

/* Some file systems do not report d_type. */
static unsigned char entry_type(void *state, int dirfd,
                                const struct dir_entry *entry)
{
    struct stat st;

    if (entry->type != DT_UNKNOWN)
        return entry->type;
    if (fstatat(dirfd, entry->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return DT_UNKNOWN;
    return IFTODT(st.st_mode);
}

static ssize_t read_link(void *state, struct ic_inode *inode, char *to,
                         size_t room)
{
    ssize_t n = readlinkat(ic_inode_fd(inode), "", to, room);

    return n < 0 ? -errno : n;
}

/* ---- attributes ---------------------------------------------------------- */

static int get(void *state, struct ic_inode *inode, const char *name,
               struct stat *ret_stat)
{
    return ic_stat(state, inode, ret_stat);
}

static int set(void *state, struct ic_inode *inode, const char *name, int fd,
               const struct ic_setattr *attr)
{
    return ic_setattr(state, inode, fd, attr, NULL);
}

/* These system calls accept no O_PATH fd, only a path. */
static ssize_t read_xattr(void *state, struct ic_inode *inode, const char *name,
                          char *to, size_t room)
{
    struct proc_fd_path path = proc_fd_path(ic_inode_fd(inode));
    ssize_t n = *name ? getxattr(path.text, name, to, room)
                      : listxattr(path.text, to, room);

    return n < 0 ? -errno : n;
}

static int write_xattr(void *state, struct ic_inode *inode, const char *name,
                       const void *value, size_t size, int flags)
{
    return value ? ic_setxattr(state, inode, name, value, size, flags)
                 : ic_removexattr(state, inode, name);
}

/* ---- names --------------------------------------------------------------- */

static int create(void *state, const struct p9_new *new, int flags,
                  struct p9_made *ret_made)
{
    return ic_create(state, new->cred, new->dir, new->name, flags, new->mode,
                     &ret_made->inode, &ret_made->st, &ret_made->fd);
}

static int make_dir(void *state, const struct p9_new *new,
                    struct p9_made *ret_made)
{
    return ic_mkdirat(state, new->cred, new->dir, new->name, new->mode,
                      &ret_made->inode, &ret_made->st);
}

static int make_node(void *state, const struct p9_new *new, dev_t rdev,
                     struct p9_made *ret_made)
{
    return ic_mknodat(state, new->cred, new->dir, new->name, new->mode, rdev,
                      &ret_made->inode, &ret_made->st);
}

static int make_symlink(void *state, const struct p9_new *new,
                        const char *target, struct p9_made *ret_made)
{
    return ic_symlinkat(state, new->cred, target, new->dir, new->name,
                        &ret_made->inode, &ret_made->st);
}

static int make_link(void *state, struct ic_inode *inode, const char *from,
                     struct ic_inode *dir, const char *name)
{
    return ic_linkat(state, inode, dir, name, NULL);
}

static int move(void *state, struct ic_inode *old_dir, const char *old_name,
                struct ic_inode *new_dir, const char *new_name)
{
    return ic_renameat2(state, old_dir, old_name, new_dir, new_name, 0);
}

const struct p9_profile p9_profile_posix = {
    .name = "posix",
    .start = start,
    .end = end,
    .lookup = lookup,
    .check_name = check_name,
    .type = type,
    .entry_type = entry_type,
    .get = get,
    .set = set,
    .create = create,
    .make_dir = make_dir,
    .make_node = make_node,
    .make_symlink = make_symlink,
    .link = make_link,
    .rename = move,
    .read_link = read_link,
    .read_xattr = read_xattr,
    .write_xattr = write_xattr,
};
