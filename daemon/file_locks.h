/* SPDX-License-Identifier: Apache-2.0
 *
 * file_locks - applies the client's file locks to the host's files.
 *
 * So programs on both sides see each other's locks. A lock belongs to an owner
 * that the client names: a process (fcntl(2)) or an open file (flock(2)). On
 * the host each owner of each inode has an open file description: OFD locks
 * (fcntl(2), Linux 3.15) and flock(2) belong to descriptions.
 *
 * A request that must wait for a lock is parked (parked.h) while a thread waits
 * instead; then the request is handled again, and finds the lock taken.
 *
 * The number of owners and of waiting threads is bounded: ENOLCK.
 *
 * Threads: any, except file_locks_free().
 */
#ifndef DAEMON_FILE_LOCKS_H
#define DAEMON_FILE_LOCKS_H

#include <stdint.h>

#include "daemon/parked.h"
#include "interceptor/interceptor.h"

struct file_locks;

enum { FILE_LOCKS_MAX_WAITERS = 64 };

/* A range from the first to the last byte; INT64_MAX or more as the last one
 * means the end of the file, wherever it is. */
struct file_lock {
    uint64_t owner; /* the client's id of it */
    uint64_t start, end;
    uint32_t type; /* F_RDLCK, F_WRLCK, F_UNLCK */
    uint32_t pid;  /* set by file_locks_test(); 0: unknown */
    bool flock;    /* of flock(2): the whole file */

    /* From file_locks_session(), called before the file was looked up. */
    unsigned session;
};

/* Both arguments are borrowed. */
struct file_locks *file_locks_new(struct ic *ic, struct parked *parked);

/* NULL is allowed. */
void file_locks_free(struct file_locks *locks);

/* Return the number of the client's session, which changes with each
 * file_locks_clear(). */
unsigned file_locks_session(struct file_locks *locks);

/* Set or clear a lock. unique: the request's id; wait: wait until it is free.
 * Return 0, IC_PARKED (handle the request again when it is ready), -EAGAIN,
 * -EINTR, -ENOLCK, -EBADF (an earlier session) or another -errno. */
int file_locks_set(struct file_locks *locks, struct ic_inode *inode,
                   const struct file_lock *lock, uint64_t unique, bool wait);

/* Return the first lock that conflicts with *lock, in *lock; its type is
 * F_UNLCK if there is none. Return 0 or -errno. */
int file_locks_test(struct file_locks *locks, struct ic_inode *inode,
                    struct file_lock *lock);

/* Return whether the owner has locks on the inode (other than flock(2)), or
 * waits for one. */
bool file_locks_has_owner(struct file_locks *locks, struct ic_inode *inode,
                          uint64_t owner);

/* Drop all locks of an owner on the inode. */
void file_locks_drop(struct file_locks *locks, struct ic_inode *inode,
                     uint64_t owner, bool flock);

/* End the wait of a request that was answered otherwise. */
void file_locks_abandon(struct file_locks *locks, uint64_t unique);

/* Drop all locks: the client has gone. */
void file_locks_clear(struct file_locks *locks);

#endif
