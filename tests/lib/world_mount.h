/* SPDX-License-Identifier: Apache-2.0
 *
 * world_mount - shared by the files of the worlds "mount" and "local".
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
    GHashTable *seen;              /* world_local.h; or NULL */
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

bool mount_start(struct world *w);
void mount_stop(struct world *w);
void mount_kill(struct world *w);
json_t *mount_request(struct world *w, const char *type, json_t *payload,
                      GError **error);
json_t *mount_event(struct world *w, const char *type);
json_t *mount_wait_event(struct world *w, const char *type);
json_t *mount_error_data(struct world *w);
struct ic *mount_engine(struct world *w);

/* The members of struct world_backend that the worlds "mount" and "local"
 * share.
 */
#define WORLD_MOUNT_OPERATIONS                                                 \
    .start = mount_start, .stop = mount_stop, .kill = mount_kill,              \
    .put = mount_put, .mkdir = mount_mkdir, .mknod = mount_mknod,              \
    .symlink = mount_symlink, .link = mount_link, .unlink = mount_unlink,      \
    .rmdir = mount_rmdir, .rename = mount_rename, .chmod = mount_chmod,        \
    .chown = mount_chown, .utimes = mount_utimes, .truncate = mount_truncate,  \
    .setxattr = mount_setxattr, .removexattr = mount_removexattr,              \
    .fallocate = mount_fallocate, .copy_range = mount_copy_range,              \
    .stat = mount_stat, .chdir = mount_chdir, .open = mount_open,              \
    .tmpfile = mount_tmpfile, .write = mount_write,                            \
    .handle_truncate = mount_handle_truncate,                                  \
    .handle_link = mount_handle_link, .write_as = mount_write_as,              \
    .mmap_write = mount_mmap_write, .handle_stat = mount_handle_stat,          \
    .close = mount_close, .event = mount_event,                                \
    .wait_event = mount_wait_event, .error_data = mount_error_data,            \
    .engine = mount_engine

#endif
