/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_handles - the files and directories that the client has open.
 *
 * A handle refers to its own inode: a request that names a handle acts on that
 * inode, whatever node the request also names.
 *
 * Threads: any thread may make any call, except fuse_handles_free().
 */
#ifndef VIRTIOFS_FUSE_FUSE_HANDLES_H
#define VIRTIOFS_FUSE_FUSE_HANDLES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "daemon/dir_stream.h"
#include "interceptor/interceptor.h"

struct fuse_handles;

struct fuse_handle {
    int fd; /* from ic_open() or ic_create() */
    bool writable, readable;
    uint32_t write_span;   /* from ic_write_opened(), if writable */
    atomic_bool no_nowait; /* its filesystem lacks RWF_NOWAIT */
    atomic_uint n_cached;  /* consecutive reads served from memory; see
                            * fuse_io.c */
    struct ic *ic;
    struct ic_inode *inode; /* a hold */
    uint64_t id;
    pthread_mutex_t lock;   /* guards dir */
    struct dir_stream *dir; /* directories only, else NULL */
};

/* ic is borrowed for the lifetime of the table. */
struct fuse_handles *fuse_handles_new(struct ic *ic);

/* NULL is allowed. */
void fuse_handles_free(struct fuse_handles *handles);

/* Add a handle for fd (taken, also on failure), opened with these flags, of the
 * inode (borrowed; a reference is taken). Return 0 and the handle's id, or
 * -ENFILE. */
int fuse_handles_add(struct fuse_handles *handles, int fd, int flags,
                     struct ic_inode *inode, uint64_t *ret_id);

/* Return the handle of an open file or directory, or NULL. Release the handle
 * with fuse_handles_put(). */
struct fuse_handle *fuse_handles_get_file(struct fuse_handles *handles,
                                          uint64_t id);
struct fuse_handle *fuse_handles_get_dir(struct fuse_handles *handles,
                                         uint64_t id);
void fuse_handles_put(struct fuse_handles *handles, struct fuse_handle *handle);

/* Write what the handle's inode has in memory to the disk, without its times if
 * data_only, and release the handle (NULL: -EBADF). Return 0 or -errno. */
int fuse_handles_sync(struct fuse_handles *handles, struct fuse_handle *handle,
                      bool data_only);

/* Remove a handle of a file or a directory; its fd is closed after the last
 * fuse_handles_put(). Return 0 or -EBADF. */
int fuse_handles_remove(struct fuse_handles *handles, uint64_t id, bool dir);

/* Call each with the inode (borrowed) of each file that is open for reading and
 * writing, so that its client can have mapped and changed it. each must not
 * call this table. Takes time for each handle. */
void fuse_handles_each_mappable(struct fuse_handles *handles,
                                void (*each)(const struct ic_inode *inode,
                                             void *opaque),
                                void *opaque);

/* Return whether a file or directory is open. Takes time for each handle. */
bool fuse_handles_has(struct fuse_handles *handles,
                      const struct ic_inode *inode);

void fuse_handles_clear(struct fuse_handles *handles);

#endif
