/* SPDX-License-Identifier: Apache-2.0
 *
 * sys - see sys.h.
 */
#include "interceptor/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/proc_fd.h"
#include "interceptor/fault.h"

#define RESULT(expression) ((expression) < 0 ? -errno : 0)

/* A call that changes something, and one that only looks; name may be NULL. */
#define CHANGE(call, name, expression)                                         \
    RESULT(FAULT_POINT(call, name, expression))
#define LOOK(call, name, expression) RESULT(FAULT_LOOK(call, name, expression))

static int open_once(int dirfd, const char *name, int flags, mode_t mode)
{
    bool changes = flags & (O_CREAT | O_TRUNC) ||
                   (flags & O_TMPFILE) == O_TMPFILE;

    if (changes)
        return (int)FAULT_POINT("open", name,
                                openat(dirfd, name, flags | O_CLOEXEC, mode));
    return FAULT_LOOK("open", name,
                      openat(dirfd, name, flags | O_CLOEXEC, mode));
}

int sys_openat(int dirfd, const char *name, int flags, mode_t mode)
{
    int fd;

    do
        fd = open_once(dirfd, name, flags, mode);
    while (fd < 0 && errno == EINTR);
    return fd < 0 ? -errno : fd;
}

int sys_reopen(int fd, int flags)
{
    return sys_openat(AT_FDCWD, proc_fd_path(fd).text, flags & ~O_NOFOLLOW, 0);
}

int sys_open_handle(int mount_fd, struct file_handle *handle, int flags)
{
    int fd = open_by_handle_at(mount_fd, handle, flags | O_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

int sys_make_path(const char *path, mode_t mode)
{
    char *copy = *path ? strdup(path) : NULL;
    int rc = copy ? 0 : *path ? -ENOMEM : -ENOENT;

    /* The first part that is there may be on a read-only filesystem, where
     * mkdir(2) would not say EEXIST. */
    for (char *end = copy; rc == 0 && end;) {
        struct stat st;

        end = strchr(end + 1, '/');
        if (end)
            *end = '\0';
        if (sys_stat_name(AT_FDCWD, copy, &st) == -ENOENT)
            rc = sys_mkdirat(AT_FDCWD, copy, mode);
        if (rc == -EEXIST)
            rc = 0;
        if (end)
            *end = '/';
    }
    free(copy);
    return rc;
}

int sys_mkdirat(int dirfd, const char *name, mode_t mode)
{
    return CHANGE("mkdir", name, mkdirat(dirfd, name, mode));
}

int sys_mknodat(int dirfd, const char *name, mode_t mode, dev_t rdev)
{
    return CHANGE("mknod", name, mknodat(dirfd, name, mode, rdev));
}

int sys_symlinkat(const char *target, int dirfd, const char *name)
{
    return CHANGE("symlink", name, symlinkat(target, dirfd, name));
}

int sys_linkat(int old_dirfd, const char *old_name, int dirfd, const char *name)
{
    return CHANGE("link", name, linkat(old_dirfd, old_name, dirfd, name, 0));
}

int sys_link_fd(int fd, int dirfd, const char *name)
{
    /* AT_EMPTY_PATH would need CAP_DAC_READ_SEARCH (open(2), O_TMPFILE). */
    return CHANGE("link", name,
                  linkat(AT_FDCWD, proc_fd_path(fd).text, dirfd, name,
                         AT_SYMLINK_FOLLOW));
}

int sys_unlinkat(int dirfd, const char *name, int flags)
{
    return CHANGE("unlink", name, unlinkat(dirfd, name, flags));
}

int sys_renameat2(int old_dirfd, const char *old_name, int dirfd,
                  const char *name, unsigned flags)
{
    return CHANGE("rename", name,
                  renameat2(old_dirfd, old_name, dirfd, name, flags));
}

int sys_rename_noreplace(int old_dirfd, const char *old_name, int dirfd,
                         const char *name)
{
    int rc = sys_renameat2(old_dirfd, old_name, dirfd, name, RENAME_NOREPLACE);
    struct stat st;

    if (rc != -EINVAL && rc != -ENOSYS)
        return rc;
    rc = sys_stat_name(dirfd, name, &st);
    if (rc != -ENOENT)
        return rc == 0 ? -EEXIST : rc;
    return sys_renameat2(old_dirfd, old_name, dirfd, name, 0);
}

/* Where a fault cuts the write, of the first part alone. */
static ssize_t pwritev_once(int fd, const struct iovec *iov, int iovcnt,
                            off_t offset, int flags)
{
    struct iovec cut = iovcnt > 0 ? iov[0] : (struct iovec){ 0 };

    cut.iov_len = fault_cut(cut.iov_len);
    return iovcnt > 0 && cut.iov_len < iov[0].iov_len
               ? pwritev2(fd, &cut, 1, offset, flags)
               : pwritev2(fd, iov, iovcnt, offset, flags);
}

ssize_t sys_pwritev2(int fd, const struct iovec *iov, int iovcnt, off_t offset,
                     int flags)
{
    ssize_t n;

    do
        n = FAULT_POINT("pwritev2", NULL,
                        pwritev_once(fd, iov, iovcnt, offset, flags));
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

int sys_write_all(int fd, const void *data, size_t len)
{
    const char *p = data;

    while (len > 0) {
        ssize_t n = FAULT_POINT("write", NULL, write(fd, p, fault_cut(len)));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

int sys_pwrite_all(int fd, const void *data, size_t len, off_t offset)
{
    const char *p = data;

    while (len > 0) {
        ssize_t n = FAULT_POINT("pwrite", NULL,
                                pwrite(fd, p, fault_cut(len), offset));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        p += n;
        offset += n;
        len -= (size_t)n;
    }
    return 0;
}

int sys_fdatasync(int fd)
{
    return CHANGE("fdatasync", NULL, fdatasync(fd));
}

int sys_ftruncate(int fd, off_t size)
{
    int rc;

    do
        rc = (int)FAULT_POINT("ftruncate", NULL, ftruncate(fd, size));
    while (rc < 0 && errno == EINTR);
    return RESULT(rc);
}

int sys_fallocate(int fd, int mode, off_t offset, off_t length)
{
    int rc;

    do
        rc = (int)FAULT_POINT("fallocate", NULL,
                              fallocate(fd, mode, offset, length));
    while (rc < 0 && errno == EINTR);
    return RESULT(rc);
}

int sys_fsync(int fd)
{
    return CHANGE("fsync", NULL, fsync(fd));
}

int sys_syncfs(int fd)
{
    return CHANGE("syncfs", NULL, syncfs(fd));
}

int sys_clone(int from, int to)
{
    return CHANGE("clone", NULL, ioctl(to, FICLONE, from));
}

int sys_get_fsxattr(int fd, struct fsxattr *ret_attr)
{
    return LOOK("fsgetxattr", NULL, ioctl(fd, FS_IOC_FSGETXATTR, ret_attr));
}

int sys_set_fsxattr(int fd, const struct fsxattr *attr)
{
    return CHANGE("fssetxattr", NULL, ioctl(fd, FS_IOC_FSSETXATTR, attr));
}

ssize_t sys_copy_file_range(int in, off_t in_offset, int out, off_t out_offset,
                            size_t length, unsigned flags)
{
    ssize_t n;

    do
        n = FAULT_POINT("copy_file_range", NULL,
                        copy_file_range(in, &in_offset, out, &out_offset,
                                        fault_cut(length), flags));
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

int sys_chown_fd(int fd, uid_t uid, gid_t gid)
{
    return CHANGE("chown", NULL, fchownat(fd, "", uid, gid, AT_EMPTY_PATH));
}

int sys_chmod_fd(int fd, mode_t mode)
{
    /* fchmod() refuses O_PATH fds. */
    return CHANGE("chmod", NULL, chmod(proc_fd_path(fd).text, mode));
}

int sys_utimens_fd(int fd, const struct timespec times[2])
{
    return CHANGE("utimens", NULL,
                  utimensat(AT_FDCWD, proc_fd_path(fd).text, times, 0));
}

void sys_touch_fd(int fd)
{
    futimens(fd, NULL);
}

int64_t sys_time_us(const struct timespec *time)
{
    return (int64_t)time->tv_sec * 1000000 + time->tv_nsec / 1000;
}

int sys_setxattr_fd(int fd, const char *name, const void *value, size_t size,
                    int flags)
{
    return CHANGE("setxattr", name,
                  setxattr(proc_fd_path(fd).text, name, value, size, flags));
}

int sys_removexattr_fd(int fd, const char *name)
{
    return CHANGE("removexattr", name,
                  removexattr(proc_fd_path(fd).text, name));
}

int sys_stat_name(int dirfd, const char *name, struct stat *ret_stat)
{
    return LOOK("stat", name,
                fstatat(dirfd, name, ret_stat, AT_SYMLINK_NOFOLLOW));
}

int sys_stat_fd(int fd, struct stat *ret_stat)
{
    return LOOK("stat", NULL, fstatat(fd, "", ret_stat, AT_EMPTY_PATH));
}

int sys_is_fixed_fd(int fd)
{
    struct statx st;
    int rc = LOOK("stat", NULL, statx(fd, "", AT_EMPTY_PATH, 0, &st));

    if (rc < 0)
        return rc;
    return (st.stx_attributes & (STATX_ATTR_APPEND | STATX_ATTR_IMMUTABLE)) !=
           0;
}

uint64_t sys_mount_of_fd(int fd)
{
    struct statx st;
    int rc = LOOK(
        "stat", NULL,
        statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &st));

    return rc == 0 && st.stx_mask & STATX_MNT_ID ? st.stx_mnt_id : 0;
}

static struct timespec time_of(const struct statx_timestamp *time)
{
    return (struct timespec){ .tv_sec = time->tv_sec,
                              .tv_nsec = time->tv_nsec };
}

int sys_birth_name(int dirfd, const char *name, struct timespec *ret_born,
                   struct timespec *ret_changed)
{
    struct statx st;
    int rc = LOOK("stat", name,
                  statx(dirfd, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH,
                        STATX_BTIME | STATX_CTIME, &st));

    if (rc < 0)
        return rc;
    if (!(st.stx_mask & STATX_BTIME))
        return -EOPNOTSUPP;
    *ret_born = time_of(&st.stx_btime);
    *ret_changed = time_of(&st.stx_ctime);
    return 0;
}

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

int sys_dir_is_empty(int dirfd, const char *name)
{
    int fd = sys_openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    struct dirent *entry;
    int empty = 1;
    DIR *dir;

    if (fd < 0)
        return fd;
    dir = fdopendir(fd);
    if (!dir) {
        int rc = -errno;

        close(fd);
        return rc;
    }
    while (empty == 1 && (entry = readdir(dir))) {
        if (!is_dot(entry->d_name))
            empty = 0;
    }
    closedir(dir);
    return empty;
}

static int open_up(int dirfd, const char *name)
{
    return CHANGE("chmod", name, fchmodat(dirfd, name, 0700, 0));
}

/* Move a directory up to top, under a fresh name. */
static int hoist(int top, int dirfd, const char *name, unsigned *counter)
{
    char fresh[32];
    int rc;

    do {
        snprintf(fresh, sizeof(fresh), ".rm-%u", (*counter)++);
        rc = sys_rename_noreplace(dirfd, name, top, fresh);
        /* Its ".." changes, which needs the right to write it. */
        if (rc == -EACCES && open_up(dirfd, name) == 0)
            rc = sys_rename_noreplace(dirfd, name, top, fresh);
    } while (rc == -EEXIST);
    return rc;
}

/* Remove what can be removed below fd; directories that still have entries
 * are pushed up to "top" under a fresh name, so that depth costs no stack. */
static int empty_dir(int top, int fd, unsigned *counter, bool *ret_again)
{
    DIR *dir = fdopendir(fd);
    struct dirent *entry;
    int first_error = 0;

    if (!dir) {
        int rc = -errno;

        close(fd);
        return rc;
    }
    while ((entry = readdir(dir))) {
        int rc;

        if (is_dot(entry->d_name))
            continue;
        rc = sys_unlinkat(dirfd(dir), entry->d_name, 0);
        if (rc == -EISDIR || rc == -EPERM)
            rc = sys_unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
        if (rc == -ENOTEMPTY || rc == -EEXIST) {
            rc = hoist(top, dirfd(dir), entry->d_name, counter);
            *ret_again = true;
        }
        if (rc < 0 && rc != -ENOENT && first_error == 0)
            first_error = rc;
    }
    closedir(dir);
    return first_error;
}

static int open_for_removal(int dirfd, const char *name)
{
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
    int fd = sys_openat(dirfd, name, flags, 0);

    if (fd == -EACCES && open_up(dirfd, name) == 0)
        fd = sys_openat(dirfd, name, flags, 0);
    return fd;
}

/* One pass over the direct children of top that are directories. */
static int empty_children(int top, unsigned *counter, bool *ret_again)
{
    int fd = sys_openat(top, ".", O_RDONLY | O_DIRECTORY, 0);
    struct dirent *entry;
    int first_error = 0;
    DIR *dir;

    if (fd < 0)
        return fd;
    dir = fdopendir(fd);
    if (!dir) {
        int rc = -errno;

        close(fd);
        return rc;
    }
    while ((entry = readdir(dir))) {
        int rc = 0, child;

        if (is_dot(entry->d_name))
            continue;
        if (sys_unlinkat(top, entry->d_name, 0) == 0)
            continue;
        child = open_for_removal(top, entry->d_name);
        if (child >= 0) {
            sys_chmod_fd(child, 0700); /* children may be moved out of it */
            rc = empty_dir(top, child, counter, ret_again);
        } else {
            rc = child;
        }
        if (rc == 0)
            rc = sys_unlinkat(top, entry->d_name, AT_REMOVEDIR);
        if (rc == -ENOTEMPTY || rc == -EEXIST) {
            /* readdir() may miss entries of a directory that changes. */
            *ret_again = true;
            rc = 0;
        }
        if (rc < 0 && rc != -ENOENT && first_error == 0)
            first_error = rc;
    }
    closedir(dir);
    return first_error;
}

int sys_remove_tree(int dirfd, const char *name)
{
    fd_auto int top = -1;
    unsigned counter = 0;
    bool again;
    int rc = sys_unlinkat(dirfd, name, 0);

    if (rc == 0 || rc == -ENOENT)
        return 0;
    if (rc != -EISDIR && rc != -EPERM)
        return rc;
    top = open_for_removal(dirfd, name);
    if (top < 0)
        return top == -ENOTDIR ? rc : top;
    sys_chmod_fd(top, 0700);
    do {
        again = false;
        rc = empty_children(top, &counter, &again);
    } while (rc == 0 && again);
    if (rc < 0)
        return rc;
    return sys_unlinkat(dirfd, name, AT_REMOVEDIR);
}
