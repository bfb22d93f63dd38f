/* SPDX-License-Identifier: Apache-2.0
 *
 * world_9p - shared by the files of that backend.
 *
 * 9P has fewer operations than a file system. Those that others can express (an
 * exchange by three renames, a hole by zeros) are replaced; the rest return
 * EOPNOTSUPP, which the tests expect.
 */
#ifndef TESTS_WORLD_9P_H
#define TESTS_WORLD_9P_H

#include "tests/lib/p9_client.h"
#include "tests/lib/world.h"

struct world_9p {
    pid_t pid;
    struct control_client *control;
    struct p9_client *client;
    uint32_t cwd; /* a fid */
};

/* Return a new fid in ret_fid: of a path, or of an open file. */
int world_9p_walk(struct world *w, const char *path, uint32_t *ret_fid);
int world_9p_open_path(struct world *w, const char *path, int flags,
                       uint32_t *ret_fid);

/* Clunk a fid. Return r if that is an error, else the clunk's result. */
int world_9p_clunk(struct world *w, uint32_t fid, int r);

int world_9p_write_fid(struct world *w, uint32_t fid, const void *data,
                       size_t len, off_t offset);
uint32_t world_9p_to_fid(void *handle);

/* See struct world_backend. */
int world_9p_put(struct world *w, const char *path, int flags, const void *data,
                 size_t len, off_t offset);
int world_9p_mkdir(struct world *w, const char *path, mode_t mode);
int world_9p_mknod(struct world *w, const char *path, mode_t mode, dev_t dev);
int world_9p_symlink(struct world *w, const char *target, const char *path);
int world_9p_link(struct world *w, const char *from, const char *path);
int world_9p_unlink(struct world *w, const char *path);
int world_9p_rmdir(struct world *w, const char *path);
int world_9p_rename(struct world *w, const char *from, const char *to,
                    unsigned flags);
int world_9p_chmod(struct world *w, const char *path, mode_t mode);
int world_9p_chown(struct world *w, const char *path, uid_t uid, gid_t gid);
int world_9p_utimes(struct world *w, const char *path,
                    const struct timespec times[2]);
int world_9p_truncate(struct world *w, const char *path, off_t size);
int world_9p_setxattr(struct world *w, const char *path, const char *name,
                      const void *value, size_t len);
int world_9p_removexattr(struct world *w, const char *path, const char *name);
int world_9p_fallocate(struct world *w, const char *path, int mode,
                       off_t offset, off_t len);
int world_9p_copy_range(struct world *w, const char *from, const char *to,
                        off_t from_offset, off_t to_offset, size_t len);
int world_9p_stat(struct world *w, const char *path, struct stat *ret_stat);
int world_9p_chdir(struct world *w, const char *name);
void *world_9p_open(struct world *w, const char *path, int flags);
void *world_9p_tmpfile(struct world *w, const char *dir, int flags);
int world_9p_write(struct world *w, void *handle, const void *data, size_t len,
                   off_t offset);
int world_9p_handle_truncate(struct world *w, void *handle, off_t size);
int world_9p_handle_link(struct world *w, void *handle, const char *path);
int world_9p_handle_stat(struct world *w, void *handle, struct stat *ret_stat);
void world_9p_close(struct world *w, void *handle);
int world_9p_write_as(struct world *w, const char *path, uid_t uid,
                      const void *data, size_t len, off_t offset);
int world_9p_mmap_write(struct world *w, const char *path, const void *data,
                        size_t len, off_t offset);

#endif
