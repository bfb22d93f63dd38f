/* SPDX-License-Identifier: Apache-2.0
 *
 * sys - the system calls that change the shared tree or the log.
 *
 * mutate*.c (for the client) and restore.c (for a rollback) change the share,
 * and the modules of the log change the log, only through these functions. So
 * this file lists every point at which a crash can leave a half-done state.
 * Each is marked for fault injection (fault.h); a new one must be marked, too.
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

/* Open the inode behind an O_PATH fd again, with these flags. */
int sys_reopen(int fd, int flags);

/* open_by_handle_at(2). mount_fd: any file on the handle's filesystem, not
 * O_PATH. -ESTALE: the file no longer exists. */
struct file_handle;
int sys_open_handle(int mount_fd, struct file_handle *handle, int flags);

/* Make a folder and its missing parents. */
int sys_make_path(const char *path, mode_t mode);

int sys_mkdirat(int dirfd, const char *name, mode_t mode);
int sys_mknodat(int dirfd, const char *name, mode_t mode, dev_t rdev);
int sys_symlinkat(const char *target, int dirfd, const char *name);
int sys_linkat(int old_dirfd, const char *old_name, int dirfd,
               const char *name);

/* Give the inode behind an fd of any kind another name. */
int sys_link_fd(int fd, int dirfd, const char *name);

int sys_unlinkat(int dirfd, const char *name, int flags);
int sys_renameat2(int old_dirfd, const char *old_name, int dirfd,
                  const char *name, unsigned flags);

/* renameat2(RENAME_NOREPLACE); a check and rename() where the filesystem lacks
 * the flag. */
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

/* Sync the whole filesystem that fd is on. */
int sys_syncfs(int fd);

/* Make the file "to" share all data of "from" (FICLONE, ioctl_ficlone(2);
 * btrfs, XFS). */
int sys_clone(int from, int to);

/* Return the UUID of the btrfs subvolume that the file is in (Linux 4.18); all
 * 0 if it has none. The fd may not be O_PATH. */
enum { SYS_UUID_SIZE = 16 };
int sys_subvolume(int fd, uint8_t ret_uuid[SYS_UUID_SIZE]);

/* FS_IOC_FSGETXATTR, FS_IOC_FSSETXATTR; the fd may not be O_PATH. */
struct fsxattr;
int sys_get_fsxattr(int fd, struct fsxattr *ret_attr);
int sys_set_fsxattr(int fd, const struct fsxattr *attr);

ssize_t sys_copy_file_range(int in, off_t in_offset, int out, off_t out_offset,
                            size_t length, unsigned flags);

/* chmod(2) by name; follows a symlink. */
int sys_chmodat(int dirfd, const char *name, mode_t mode);

/* For the inode behind an fd of any kind, O_PATH and symlinks included. */
int sys_chown_fd(int fd, uid_t uid, gid_t gid);
int sys_chmod_fd(int fd, mode_t mode);
int sys_utimens_fd(int fd, const struct timespec times[2]);

/* Set the mtime to now. Only for a time stamp that a timer reads, so it is not
 * a point of fault.h. */
void sys_touch_fd(int fd);

/* Return microseconds since the epoch. */
int64_t sys_time_us(const struct timespec *time);
int sys_setxattr_fd(int fd, const char *name, const void *value, size_t size,
                    int flags);
int sys_removexattr_fd(int fd, const char *name);

/* stat one name; a symlink is not followed. */
int sys_stat_name(int dirfd, const char *name, struct stat *ret_stat);
int sys_stat_fd(int fd, struct stat *ret_stat);

/* Return 1 if the inode is append-only or immutable (chattr(1): a or i), so
 * that a change of it could not be undone; 0 if not, or if its filesystem does
 * not report it; or -errno. */
int sys_is_fixed_fd(int fd);

/* Return the id of the mount through which fd was opened (Linux 5.8), or 0. */
uint64_t sys_mount_of_fd(int fd);

/* Both in one system call. */
int sys_stat_mounted(int fd, struct stat *ret_stat, uint64_t *ret_mount);

struct sys_born {
    struct stat st;
    struct timespec born;
    uint64_t mount; /* mount id, or 0 */
};

/* Stat a name (name "": dirfd itself) with its mount id and btime. -EOPNOTSUPP:
 * the filesystem does not report a btime. */
int sys_stat_born(int dirfd, const char *name, struct sys_born *ret_born);

/* Return the btime and the ctime of a name (name "": dirfd itself).
 * -EOPNOTSUPP: the filesystem does not report a btime. */
int sys_btime_name(int dirfd, const char *name, struct timespec *ret_born,
                   struct timespec *ret_changed);

/* Called for each entry of a directory except "." and "..", with the
 * directory's fd (borrowed). It may remove or move the entry. Any return value
 * but 0 ends the listing. */
struct dirent;
typedef int sys_dir_visit(int fd, const struct dirent *entry, void *opaque);

/* List the directory "name" ("." is dirfd itself; a symlink is not followed).
 * Returns the value with which visit() ended the listing; 0 if it has seen
 * every entry; or -errno if the directory could not be opened or read to its
 * end (readdir(3)). On error visit() may have seen some entries or none, and
 * the caller must not take them for all. */
int sys_dir_each(int dirfd, const char *name, sys_dir_visit *visit,
                 void *opaque);

/* The same for an open directory. Takes ownership of fd. If fd is an error
 * (-errno), returns that. */
int sys_dir_each_fd(int fd, sys_dir_visit *visit, void *opaque);

/* Remove a name and everything below it, at any depth. Never leaves the tree:
 * removes symlinks and does not follow them. Returns 0 if there is none. */
int sys_remove_tree(int dirfd, const char *name);

/* Return 1 if the directory is empty, 0 if not, or -errno. */
int sys_dir_is_empty(int dirfd, const char *name);

#endif
