/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_handles - the files and directories that the client has open.
 *
 * A handle carries its own inode: a request that names a handle is about that
 * inode, whatever node it names beside it.
 *
 * Threads: every call by any thread, but fuse_handles_free().
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
    int fd; /* as ic_open() or ic_create() gave it */
    bool writable;
    atomic_bool no_nowait;  /* its filesystem has no RWF_NOWAIT */
    atomic_uint n_cached;   /* reads in turn that met no disk; see fuse_io.c */
    struct ic_inode *inode; /* held */
    uint64_t id;
    pthread_mutex_t lock;   /* dir */
    struct dir_stream *dir; /* directories only, else NULL */
};

/* ic is borrowed for their life. */
struct fuse_handles *fuse_handles_new(struct ic *ic);

/* NULL is allowed. */
void fuse_handles_free(struct fuse_handles *handles);

/* A handle of fd (taken, also on failure), open with these flags, of the inode
 * (borrowed; a reference is taken). 0 and its id, or -ENFILE. */
int fuse_handles_add(struct fuse_handles *handles, int fd, int flags,
                     struct ic_inode *inode, uint64_t *ret_id);

/* The handle of an open file or directory, or NULL. Give it back with
 * fuse_handles_put(). */
struct fuse_handle *fuse_handles_get_file(struct fuse_handles *handles,
                                          uint64_t id);
struct fuse_handle *fuse_handles_get_dir(struct fuse_handles *handles,
                                         uint64_t id);
void fuse_handles_put(struct fuse_handles *handles, struct fuse_handle *handle);

/* Close a file or a directory, once nobody holds it. 0, or -EBADF. */
int fuse_handles_remove(struct fuse_handles *handles, uint64_t id, bool dir);

void fuse_handles_clear(struct fuse_handles *handles);

#endif
