/* SPDX-License-Identifier: Apache-2.0
 *
 * world_folder - shared by the two files of that backend.
 *
 * world_folder.c has the engine and the operations on paths,
 * world_folder_data.c those on content and handles.
 */
#ifndef TESTS_WORLD_FOLDER_H
#define TESTS_WORLD_FOLDER_H

#include "interceptor/interceptor.h"
#include "tests/lib/world.h"

struct folder {
    struct ic *ic;
    struct control_client *client;
    struct ic_cred cred;
    GPtrArray *way; /* references: from the root to the present directory */
};

/* New references, or -errno. *ret_name points into path. */
int folder_resolve(struct folder *f, const char *path,
                   struct ic_inode **ret_inode);
int folder_resolve_parent(struct folder *f, const char *path,
                          struct ic_inode **ret_dir, const char **ret_name);

/* See struct world_backend. */
void *folder_open(struct world *w, const char *path, int flags);
void *folder_tmpfile(struct world *w, const char *dir, int flags);
int folder_write(struct world *w, void *handle, const void *data, size_t len,
                 off_t offset);
int folder_write_as(struct world *w, const char *path, uid_t uid,
                    const void *data, size_t len, off_t offset);
int folder_mmap_write(struct world *w, const char *path, const void *data,
                      size_t len, off_t offset);
int folder_handle_truncate(struct world *w, void *handle, off_t size);
int folder_handle_link(struct world *w, void *handle, const char *path);
int folder_handle_stat(struct world *w, void *handle, struct stat *ret_stat);
void folder_close(struct world *w, void *handle);
int folder_fallocate(struct world *w, const char *path, int mode, off_t offset,
                     off_t len);
int folder_copy_range(struct world *w, const char *from, const char *to,
                      off_t from_offset, off_t to_offset, size_t len);

#endif
