/* SPDX-License-Identifier: Apache-2.0
 *
 * file_locks - the client's file locks, kept on the host's files.
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
 * Threads: any, but file_locks_free().
 */
#ifndef DAEMON_FILE_LOCKS_H
#define DAEMON_FILE_LOCKS_H

#include <stdint.h>

#include "daemon/parked.h"
#include "interceptor/interceptor.h"

struct file_locks;

enum {
    FILE_LOCKS_MAX_OWNERS = 4096,
    FILE_LOCKS_MAX_WAITERS = 64,
};

/* A range is from the first to the last byte; a last one of INT64_MAX or more
 * is the end of the file, wherever that is. */
struct file_lock {
    uint64_t owner; /* as the client numbers them */
    uint64_t start, end;
    uint32_t type; /* F_RDLCK, F_WRLCK, F_UNLCK */
    uint32_t pid;  /* set by file_locks_test(); 0: not known */
    bool flock;    /* of flock(2): the whole file */

    /* From file_locks_session(), before the file was found. */
    unsigned session;
};

/* Both are borrowed. */
struct file_locks *file_locks_new(struct ic *ic, struct parked *parked);

/* NULL is allowed. */
void file_locks_free(struct file_locks *locks);

/* The client's, since the last file_locks_clear(). */
unsigned file_locks_session(struct file_locks *locks);

/* Set or clear a lock. unique: the request's number; wait: until it is free.
 * 0, IC_PARKED (handle the request again when it is ready), -EAGAIN, -EINTR,
 * -ENOLCK, -EBADF (it is of an earlier session) or -errno. */
int file_locks_set(struct file_locks *locks, struct ic_inode *inode,
                   const struct file_lock *lock, uint64_t unique, bool wait);

/* The first lock in the way of this one, in *lock; its type is F_UNLCK if there
 * is none. 0 or -errno. */
int file_locks_test(struct file_locks *locks, struct ic_inode *inode,
                    struct file_lock *lock);

/* Does it hold locks on the inode (not of flock(2)), or wait for one? */
bool file_locks_has_owner(struct file_locks *locks, struct ic_inode *inode,
                          uint64_t owner);

/* All locks of an owner on the inode. */
void file_locks_drop(struct file_locks *locks, struct ic_inode *inode,
                     uint64_t owner, bool flock);

/* The request was answered otherwise: nobody waits for its lock. */
void file_locks_abandon(struct file_locks *locks, uint64_t unique);

/* The client is gone, and all its locks. */
void file_locks_clear(struct file_locks *locks);

#endif
