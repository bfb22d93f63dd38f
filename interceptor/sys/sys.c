/* SPDX-License-Identifier: Apache-2.0
 *
 * sys - see sys.h.
 */
#include "interceptor/sys/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/proc_fd.h"
#include "interceptor/sys/fault.h"

#define RESULT(expression) ((expression) < 0 ? -errno : 0)

/* CHANGE wraps a call that changes something, LOOK one that only reads; name
 * may be NULL. */
#define CHANGE(call, name, expression)                                         \
    RESULT(FAULT_POINT(call, name, expression))
#define LOOK(call, name, expression) RESULT(FAULT_LOOK(call, name, expression))

enum { HANDLE_TRIES = 20, HANDLE_WAIT_US = 100 };

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

/* While another process makes an inode that reuses the number, ext4 reports
 * ENOMEM for the old inode's handle, and ESTALE afterwards (Linux 6.18). */
int sys_open_handle(int mount_fd, struct file_handle *handle, int flags)
{
    int fd = open_by_handle_at(mount_fd, handle, flags | O_CLOEXEC);

    for (int i = 0; fd < 0 && errno == ENOMEM && i < HANDLE_TRIES; i++) {
        usleep(HANDLE_WAIT_US);
        fd = open_by_handle_at(mount_fd, handle, flags | O_CLOEXEC);
    }
    return fd < 0 ? -errno : fd;
}

int sys_make_path(const char *path, mode_t mode)
{
    char *copy = *path ? strdup(path) : NULL;
    int rc = copy ? 0 : *path ? -ENOMEM : -ENOENT;

    /* Stat before mkdir: the leading components may be on a read-only
     * filesystem, where mkdir(2) fails with EROFS instead of EEXIST. */
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

/* An injected fault that tears the write cuts it after the first iovec. */
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

int sys_subvolume(int fd, uint8_t ret_uuid[SYS_UUID_SIZE])
{
    struct btrfs_ioctl_get_subvol_info_args info = { 0 };
    int rc = LOOK("subvolume", NULL,
                  ioctl(fd, BTRFS_IOC_GET_SUBVOL_INFO, &info));

    if (rc < 0)
        return rc;
    _Static_assert(sizeof(info.uuid) == SYS_UUID_SIZE, "a UUID");
    memcpy(ret_uuid, info.uuid, sizeof(info.uuid));
    return 0; /* ioctl(2) may return 1 on success */
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

int sys_chmodat(int dirfd, const char *name, mode_t mode)
{
    return CHANGE("chmod", name, fchmodat(dirfd, name, mode, 0));
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

static uint64_t mount_of(const struct statx *st)
{
    return st->stx_mask & STATX_MNT_ID ? st->stx_mnt_id : 0;
}

uint64_t sys_mount_of_fd(int fd)
{
    struct statx st;
    int rc = LOOK(
        "stat", NULL,
        statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &st));

    return rc == 0 ? mount_of(&st) : 0;
}

static struct timespec time_of(const struct statx_timestamp *time)
{
    return (struct timespec){ .tv_sec = time->tv_sec,
                              .tv_nsec = time->tv_nsec };
}

int sys_btime_name(int dirfd, const char *name, struct timespec *ret_born,
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

static void take_statx(const struct statx *from, struct stat *ret_stat)
{
    *ret_stat = (struct stat){
        .st_dev = makedev(from->stx_dev_major, from->stx_dev_minor),
        .st_ino = from->stx_ino,
        .st_mode = from->stx_mode,
        .st_nlink = from->stx_nlink,
        .st_uid = from->stx_uid,
        .st_gid = from->stx_gid,
        .st_rdev = makedev(from->stx_rdev_major, from->stx_rdev_minor),
        .st_size = (off_t)from->stx_size,
        .st_blksize = from->stx_blksize,
        .st_blocks = (blkcnt_t)from->stx_blocks,
        .st_atim = time_of(&from->stx_atime),
        .st_mtim = time_of(&from->stx_mtime),
        .st_ctim = time_of(&from->stx_ctime),
    };
}

int sys_stat_mounted(int fd, struct stat *ret_stat, uint64_t *ret_mount)
{
    struct statx st;
    int rc = LOOK(
        "stat", NULL,
        statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_MNT_ID, &st));

    if (rc < 0)
        return rc;
    take_statx(&st, ret_stat);
    *ret_mount = mount_of(&st);
    return 0;
}

int sys_stat_born(int dirfd, const char *name, struct sys_born *ret_born)
{
    struct statx st;
    int rc = LOOK("stat", name,
                  statx(dirfd, name,
                        AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH,
                        STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID, &st));

    if (rc < 0)
        return rc;
    if (!(st.stx_mask & STATX_BTIME))
        return -EOPNOTSUPP;
    take_statx(&st, &ret_born->st);
    ret_born->mount = mount_of(&st);
    ret_born->born = time_of(&st.stx_btime);
    return 0;
}
