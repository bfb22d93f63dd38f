/* SPDX-License-Identifier: Apache-2.0
 *
 * win_attr - metadata as clients of the Windows profile see it
 * (profile_windows.c).
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/xattr.h>

#include "common/proc_fd.h"
#include "p9/profile/profile_posix.h"
#include "p9/profile/win_names.h"
#include "p9/profile/win_share.h"

/* ---- rows ---------------------------------------------------------------- */

struct overlay_row win_default(mode_t type, const char *name)
{
    bool runs = S_ISDIR(type) ||
                (S_ISREG(type) && name && win_name_is_executable(name));

    return (struct overlay_row){
        .mode = S_ISLNK(type) ? 0777
                : runs        ? 0755
                              : 0644,
        .uid = WIN_UID,
        .gid = WIN_GID,
    };
}

/* Other types cannot have the attribute. */
static bool may_have_row(mode_t type)
{
    return S_ISREG(type) || S_ISDIR(type);
}

static bool find_at(struct win_share *share, const char *path,
                    struct overlay_row *ret_row)
{
    char reference[OVERLAY_REFERENCE_SIZE];
    ssize_t n = getxattr(path, OVERLAY_XATTR, reference, sizeof(reference));

    return n > 0 && overlay_find(share->overlay, reference, (size_t)n, ret_row);
}

bool win_find_row(struct win_share *share, struct ic_inode *inode,
                  struct overlay_row *ret_row)
{
    mode_t type = ic_inode_type(inode);

    if (!may_have_row(type) ||
        !find_at(share, proc_fd_path(ic_inode_fd(inode)).text, ret_row))
        return false;
    ret_row->symlink &= S_ISREG(type);
    return true;
}

/* Make the inode writable: on Windows a read-only file's attributes can be
 * changed, on Linux that requires write permission. */
static int make_writable(struct win_share *share, struct ic_inode *inode)
{
    struct ic_setattr attr = { .valid = IC_SET_MODE };
    struct stat st;
    int r = ic_stat(share->ic, inode, &st);

    attr.mode = (st.st_mode & 07777) | S_IWUSR;
    if (r == 0 && attr.mode == (st.st_mode & 07777))
        r = -EACCES; /* the mode is not the cause */
    return r < 0 ? r : ic_setattr(share->ic, inode, -1, &attr, NULL);
}

int win_set_row(struct win_share *share, struct ic_inode *inode,
                const struct overlay_row *row)
{
    struct overlay_reference reference;
    int r;

    if (!may_have_row(ic_inode_type(inode)))
        return -EPERM;
    r = overlay_refer(share->overlay, row, &reference);
    if (r < 0)
        return r;
    r = ic_setxattr(share->ic, inode, OVERLAY_XATTR, reference.bytes,
                    sizeof(reference.bytes), 0);
    if (r != -EACCES)
        return r;
    r = make_writable(share, inode);
    return r != 0 ? r
                  : ic_setxattr(share->ic, inode, OVERLAY_XATTR,
                                reference.bytes, sizeof(reference.bytes), 0);
}

/* ---- reading ------------------------------------------------------------- */

static mode_t shown_type(mode_t type, const struct overlay_row *row)
{
    return row->symlink ? S_IFLNK : type & S_IFMT;
}

void win_show(struct win_share *share, struct ic_inode *inode, const char *name,
              struct stat *st)
{
    struct overlay_row row;

    if (!win_find_row(share, inode, &row))
        row = win_default(st->st_mode, name);
    st->st_mode = shown_type(st->st_mode, &row) | row.mode;
    st->st_uid = row.uid;
    st->st_gid = row.gid;
}

int win_get(void *state, struct ic_inode *inode, const char *name,
            struct stat *ret_stat)
{
    struct win_share *share = state;
    int r = ic_stat(share->ic, inode, ret_stat);

    if (r == 0)
        win_show(share, inode, name, ret_stat);
    return r;
}

mode_t win_type(void *state, struct ic_inode *inode)
{
    struct overlay_row row = { 0 };

    win_find_row(state, inode, &row);
    return shown_type(ic_inode_type(inode), &row);
}

unsigned char win_entry_type(void *state, int dirfd,
                             const struct dir_entry *entry)
{
    struct win_share *share = state;
    unsigned char type = p9_profile_posix.entry_type(share->ic, dirfd, entry);
    char path[sizeof(struct proc_fd_path) + 1 + NAME_MAX + 1];
    char reference[OVERLAY_REFERENCE_SIZE];
    struct overlay_row row;
    ssize_t n;

    if (type != DT_REG || !overlay_has_symlinks(share->overlay))
        return type;
    g_snprintf(path, sizeof(path), "%s/%s", proc_fd_path(dirfd).text,
               entry->name);
    n = lgetxattr(path, OVERLAY_XATTR, reference, sizeof(reference));
    if (n > 0 && overlay_find(share->overlay, reference, (size_t)n, &row) &&
        row.symlink)
        return DT_LNK;
    return type;
}

/* ---- changing ------------------------------------------------------------ */

/* Clear the set-id bits, as when an unprivileged user changes a file. */
static mode_t drop_set_ids(mode_t mode)
{
    return mode & (mode_t) ~(S_ISUID | (mode & S_IXGRP ? S_ISGID : 0));
}

/* Apply attr to the row as Linux does for a file: set-id bits are cleared for a
 * new owner, and by any change of an unprivileged user. */
static void change_row(mode_t type, const struct ic_setattr *attr,
                       struct overlay_row *row)
{
    bool kill = attr->valid & (IC_SET_UID | IC_SET_GID);

    kill |= (attr->valid & IC_KILL_PRIV) && (attr->valid & IC_SET_SIZE);
    if (attr->valid & IC_SET_UID)
        row->uid = attr->uid;
    if (attr->valid & IC_SET_GID)
        row->gid = attr->gid;
    if (attr->valid & IC_SET_MODE)
        row->mode = attr->mode & 07777;
    else if (kill && S_ISREG(type))
        row->mode = drop_set_ids(row->mode);
}

/* Set the row first: it can be set again if the rest is parked. */
int win_set(void *state, struct ic_inode *inode, const char *name, int fd,
            const struct ic_setattr *attr)
{
    static const unsigned in_row = IC_SET_MODE | IC_SET_UID | IC_SET_GID;
    struct win_share *share = state;
    mode_t type = ic_inode_type(inode);
    struct ic_setattr rest = *attr;
    struct overlay_row row, old;
    int r = 0;

    if (!win_find_row(share, inode, &row))
        row = win_default(type, name);
    old = row;
    if (row.symlink && (attr->valid & IC_SET_SIZE))
        return -EINVAL;
    if ((row.symlink || S_ISLNK(type)) && (attr->valid & IC_SET_MODE))
        return -EOPNOTSUPP;
    change_row(type, attr, &row);
    if ((attr->valid & in_row) || row.mode != old.mode)
        r = win_set_row(share, inode, &row);
    rest.valid &= ~in_row;
    if (!(rest.valid & IC_SET_SIZE))
        rest.valid &= ~(unsigned)IC_KILL_PRIV;
    if (r == 0 && rest.valid)
        r = ic_setattr(share->ic, inode, fd, &rest, NULL);
    return r;
}

int win_before_write(void *state, struct ic_inode *inode)
{
    struct win_share *share = state;
    struct overlay_row row;
    mode_t mode;

    if (!overlay_has_set_ids(share->overlay) ||
        !win_find_row(share, inode, &row))
        return 0;
    mode = drop_set_ids(row.mode);
    if (mode == row.mode)
        return 0;
    row.mode = mode;
    return win_set_row(share, inode, &row);
}

/* ---- extended attributes ------------------------------------------------- */

static bool is_users(const char *name)
{
    return g_str_has_prefix(name, "user.");
}

/* Move the names that a client may see to the front of the list. */
static ssize_t filter(char *list, size_t size)
{
    size_t kept = 0, len;

    for (size_t at = 0; at < size; at += len) {
        const char *name = list + at;

        len = strlen(name) + 1;
        if (!is_users(name) || strcmp(name, OVERLAY_XATTR) == 0)
            continue;
        memmove(list + kept, name, len);
        kept += len;
    }
    return (ssize_t)kept;
}

ssize_t win_read_xattr(void *state, struct ic_inode *inode, const char *name,
                       char *to, size_t room)
{
    struct win_share *share = state;
    ssize_t n;

    if (*name && !is_users(name))
        return -EOPNOTSUPP;
    if (strcmp(name, OVERLAY_XATTR) == 0)
        return -ENODATA;
    if (S_ISLNK(win_type(share, inode)))
        return *name ? -ENODATA : 0;
    n = p9_profile_posix.read_xattr(share->ic, inode, name, to, room);
    return *name || n < 0 ? n : filter(to, (size_t)n);
}

int win_write_xattr(void *state, struct ic_inode *inode, const char *name,
                    const void *value, size_t size, int flags)
{
    struct win_share *share = state;

    if (!is_users(name))
        return -EOPNOTSUPP;
    if (strcmp(name, OVERLAY_XATTR) == 0 || S_ISLNK(win_type(share, inode)))
        return -EPERM;
    return p9_profile_posix.write_xattr(share->ic, inode, name, value, size,
                                        flags);
}
