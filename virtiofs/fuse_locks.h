/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_locks - the client's file locks, kept on the host's files.
 *
 * So programs on both sides see each other's. A lock belongs to an owner that
 * the client names: a process (fcntl(2)) or an open file (flock(2)). On the
 * host an open file description stands for each owner of each inode: OFD locks
 * (fcntl(2), Linux 3.15) and flock(2) belong to these.
 *
 * A request that has to wait for a lock is parked (parked.h) while a thread
 * waits in its place; then it is handled again, and finds the lock taken.
 *
 * The number of owners and of waiting threads is bounded: ENOLCK.
 *
 * Threads: any, but fuse_locks_free().
 */
#ifndef VIRTIOFS_FUSE_LOCKS_H
#define VIRTIOFS_FUSE_LOCKS_H

#include <stdint.h>

#include "interceptor/interceptor.h"
#include "virtiofs/fuse_abi.h"
#include "virtiofs/parked.h"

struct fuse_locks;

enum {
    FUSE_LOCKS_MAX_OWNERS = 4096,
    FUSE_LOCKS_MAX_WAITERS = 64,
};

/* parked is borrowed. */
struct fuse_locks *fuse_locks_new(struct parked *parked);

/* NULL is allowed. */
void fuse_locks_free(struct fuse_locks *locks);

/* Set or clear a lock. unique: the request's number; wait: until it is free.
 * 0, IC_PARKED (handle the request again when it is ready), -EAGAIN, -EINTR,
 * -ENOLCK or -errno. */
int fuse_locks_set(struct fuse_locks *locks, struct ic_inode *inode,
                   const struct fuse_lk_in *in, uint64_t unique, bool wait);

/* The first lock in the way of this one, in *lock; its type is F_UNLCK if there
 * is none. 0 or -errno. */
int fuse_locks_test(struct fuse_locks *locks, struct ic_inode *inode,
                    uint64_t owner, struct fuse_file_lock *lock);

/* All locks of an owner on the inode. */
void fuse_locks_drop(struct fuse_locks *locks, struct ic_inode *inode,
                     uint64_t owner, bool flock);

/* The request was answered otherwise: nobody waits for its lock. */
void fuse_locks_abandon(struct fuse_locks *locks, uint64_t unique);

/* The client is gone, and all its locks. */
void fuse_locks_clear(struct fuse_locks *locks);

#endif
