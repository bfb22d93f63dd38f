/* SPDX-License-Identifier: Apache-2.0
 *
 * sys - the system calls that change the shared tree or the log.
 *
 * mutate*.c (for the client) and restore.c (for a rollback) change the share,
 * and the log's modules change the log, through these alone. So this file is
 * the list of points at which a crash can leave a half-done state. Each is
 * marked for fault injection (fault.h): a new one must be, too.
 *
 * All return 0 (or a count, or an fd) or -errno, and retry on EINTR where the
 * call may be repeated. fds are O_CLOEXEC.
 */
#ifndef INTERCEPTOR_SYS_SYS_H
#define INTERCEPTOR_SYS_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

int sys_openat(int dirfd, const char *name, int flags, mode_t mode);

/* Open the inode behind an O_PATH fd anew. */
int sys_reopen(int fd, int flags);

/* open_by_handle_at(2): mount_fd is of any file on the handle's filesystem, and
 * not O_PATH. -ESTALE: there is no such file (any more). */
struct file_handle;
int sys_open_handle(int mount_fd, struct file_handle *handle, int flags);

/* A folder and those above it that are missing. */
int sys_make_path(const char *path, mode_t mode);

int sys_mkdirat(int dirfd, const char *name, mode_t mode);
int sys_mknodat(int dirfd, const char *name, mode_t mode, dev_t rdev);
int sys_symlinkat(const char *target, int dirfd, const char *name);
int sys_linkat(int old_dirfd, const char *old_name, int dirfd,
               const char *name);

/* Give the inode behind any fd one more name. */
int sys_link_fd(int fd, int dirfd, const char *name);

int sys_unlinkat(int dirfd, const char *name, int flags);
int sys_renameat2(int old_dirfd, const char *old_name, int dirfd,
                  const char *name, unsigned flags);

/* renameat2(RENAME_NOREPLACE), by a check and rename() where the filesystem
 * does not know the flag. */
int sys_rename_noreplace(int old_dirfd, const char *old_name, int dirfd,
                         const char *name);

ssize_t sys_pwritev2(int fd, const struct iovec *iov, int iovcnt, off_t offset,
                     int flags);
int sys_write_all(int fd, const void *data, size_t len);
int sys_pwrite_all(int fd, const void *data, size_t len, off_t offset);
int sys_fdatasync(int fd);
int sys_ftruncate(int fd, off_t size);
int sys_fallocate(int fd, int mode, off_t offset, off_t length);
int sys_fsync(int fd);

/* All of the filesystem that fd is on. */
int sys_syncfs(int fd);

/* Make the file behind "to" share all of from's data (FICLONE,
 * ioctl_ficlone(2); btrfs, XFS). */
int sys_clone(int from, int to);

/* The UUID of the subvolume of btrfs that the file is in (Linux 4.18); all 0:
 * it has none. The fd may not be O_PATH. */
enum { SYS_UUID_SIZE = 16 };
int sys_subvolume(int fd, uint8_t ret_uuid[SYS_UUID_SIZE]);

/* FS_IOC_FSGETXATTR, FS_IOC_FSSETXATTR; the fd may not be O_PATH. */
struct fsxattr;
int sys_get_fsxattr(int fd, struct fsxattr *ret_attr);
int sys_set_fsxattr(int fd, const struct fsxattr *attr);

ssize_t sys_copy_file_range(int in, off_t in_offset, int out, off_t out_offset,
                            size_t length, unsigned flags);

/* By its name; a symlink is followed. */
int sys_chmodat(int dirfd, const char *name, mode_t mode);

/* On the inode behind an fd of any kind, O_PATH and symlinks too. */
int sys_chown_fd(int fd, uid_t uid, gid_t gid);
int sys_chmod_fd(int fd, mode_t mode);
int sys_utimens_fd(int fd, const struct timespec times[2]);

/* Its mtime becomes now. For what goes by the clock: no point of fault.h. */
void sys_touch_fd(int fd);

/* Microseconds since the epoch. */
int64_t sys_time_us(const struct timespec *time);
int sys_setxattr_fd(int fd, const char *name, const void *value, size_t size,
                    int flags);
int sys_removexattr_fd(int fd, const char *name);

/* stat one name without following it. */
int sys_stat_name(int dirfd, const char *name, struct stat *ret_stat);
int sys_stat_fd(int fd, struct stat *ret_stat);

/* 1 if the inode is append-only or immutable (chattr(1): a or i), so that a
 * change of it cannot be taken back, 0 if not or if its filesystem does not
 * say, or -errno. */
int sys_is_fixed_fd(int fd);

/* The id of the mount that it was opened on (Linux 5.8), or 0. */
uint64_t sys_mount_of_fd(int fd);

/* Both at once. */
int sys_stat_mounted(int fd, struct stat *ret_stat, uint64_t *ret_mount);

struct sys_born {
    struct stat st;
    struct timespec born;
    uint64_t mount; /* its id, or 0 */
};

/* The same of what a name leads to (name "": dirfd itself), and when that was
 * made. -EOPNOTSUPP: this filesystem does not say. */
int sys_stat_born(int dirfd, const char *name, struct sys_born *ret_born);

/* When what is there (name "": dirfd itself) was made, and when it was last
 * changed (ctime).
 * -EOPNOTSUPP: this filesystem does not say. */
int sys_birth_name(int dirfd, const char *name, struct timespec *ret_born,
                   struct timespec *ret_changed);

/* Called for each entry of a directory but "." and "..", with the directory's
 * fd (borrowed). It may remove or move the entry. Anything but 0 ends the
 * listing. */
struct dirent;
typedef int sys_dir_visit(int fd, const struct dirent *entry, void *opaque);

/* List the directory "name" ("." is dirfd itself; a symlink is not followed).
 * Returns what visit() ended the listing with; 0 if it has seen every entry; or
 * -errno if the directory could not be opened or read to its end (readdir(3)):
 * then visit() has seen some entries, or none, and the caller must not act as
 * if these were all. */
int sys_dir_each(int dirfd, const char *name, sys_dir_visit *visit,
                 void *opaque);

/* The same of a directory that is open. Takes fd, also if that is an error
 * (-errno), which it returns. */
int sys_dir_each_fd(int fd, sys_dir_visit *visit, void *opaque);

/* Remove a name and all that is below it, however deep. Never leaves the
 * tree: symlinks are removed, not followed. 0 if there is none. */
int sys_remove_tree(int dirfd, const char *name);

/* 1 if the directory has no entry, 0 if it has, or -errno. */
int sys_dir_is_empty(int dirfd, const char *name);

#endif
