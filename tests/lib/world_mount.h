/* SPDX-License-Identifier: Apache-2.0
 *
 * world_mount - shared by the two files of that backend.
 *
 * world_mount.c has the daemon and its control socket, world_mount_ops.c the
 * operations.
 */
#ifndef TESTS_WORLD_MOUNT_H
#define TESTS_WORLD_MOUNT_H

#include <sys/types.h>

#include "tests/lib/world.h"

struct mounted {
    pid_t pid;
    struct control_client *client; /* NULL: not connected */
    int cwd;                       /* or -1: the root */
};

/* See struct world_backend. */
int mount_put(struct world *w, const char *path, int flags, const void *data,
              size_t len, off_t offset);
int mount_mkdir(struct world *w, const char *path, mode_t mode);
int mount_mknod(struct world *w, const char *path, mode_t mode, dev_t dev);
int mount_symlink(struct world *w, const char *target, const char *path);
int mount_link(struct world *w, const char *from, const char *path);
int mount_unlink(struct world *w, const char *path);
int mount_rmdir(struct world *w, const char *path);
int mount_rename(struct world *w, const char *from, const char *to,
                 unsigned flags);
int mount_chmod(struct world *w, const char *path, mode_t mode);
int mount_chown(struct world *w, const char *path, uid_t uid, gid_t gid);
int mount_utimes(struct world *w, const char *path,
                 const struct timespec times[2]);
int mount_truncate(struct world *w, const char *path, off_t size);
int mount_setxattr(struct world *w, const char *path, const char *name,
                   const void *value, size_t len);
int mount_removexattr(struct world *w, const char *path, const char *name);
int mount_fallocate(struct world *w, const char *path, int mode, off_t offset,
                    off_t len);
int mount_copy_range(struct world *w, const char *from, const char *to,
                     off_t from_offset, off_t to_offset, size_t len);
int mount_stat(struct world *w, const char *path, struct stat *ret_stat);
int mount_chdir(struct world *w, const char *name);
void *mount_open(struct world *w, const char *path, int flags);
void *mount_tmpfile(struct world *w, const char *dir, int flags);
int mount_write(struct world *w, void *handle, const void *data, size_t len,
                off_t offset);
int mount_write_as(struct world *w, const char *path, uid_t uid,
                   const void *data, size_t len, off_t offset);
int mount_mmap_write(struct world *w, const char *path, const void *data,
                     size_t len, off_t offset);
int mount_handle_truncate(struct world *w, void *handle, off_t size);
int mount_handle_link(struct world *w, void *handle, const char *path);
int mount_handle_stat(struct world *w, void *handle, struct stat *ret_stat);
void mount_close(struct world *w, void *handle);

#endif
