/* SPDX-License-Identifier: Apache-2.0
 *
 * lock_owner - the open file descriptions that hold the clients' locks on the
 * host.
 *
 * An owner is created with its first lock and removed when it has unlocked
 * everything, or with its last close (FLUSH, RELEASE): closing the file
 * description releases its locks.
 *
 * Threads: the caller holds the lock that guards the table and its owners;
 * lock_owner_open() and lock_owner_set() may run without it.
 */
#ifndef DAEMON_LOCK_OWNER_H
#define DAEMON_LOCK_OWNER_H

#include <fcntl.h>
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/lock_ranges.h"
#include "interceptor/interceptor.h"

enum { LOCK_OWNERS_MAX = 4096 };

struct lock_owner {
    uint64_t dev, ino, id;
    bool flock;
    int fd;
    struct lock_ranges held; /* a superset of the locks held */
    unsigned refs;           /* one of the table; the others of waiters */
};

/* Create a set of struct lock_owner, which references them. */
GHashTable *lock_owner_table_new(void);

/* Return the owner with this id, borrowed, or NULL. */
struct lock_owner *lock_owner_find(GHashTable *owners, struct ic_inode *inode,
                                   uint64_t id, bool flock);

/* The same, and create it if necessary. Return 0, -ENOLCK if there are too
 * many, or another -errno. */
int lock_owner_get(GHashTable *owners, struct ic *ic, struct ic_inode *inode,
                   uint64_t id, bool flock, struct lock_owner **ret_owner);
void lock_owner_remove(GHashTable *owners, struct ic_inode *inode, uint64_t id,
                       bool flock);
void lock_owner_unref(gpointer data);

/* Open a new file description of the inode. Return it or -errno. */
int lock_owner_open(struct ic *ic, struct ic_inode *inode);

/* Set or clear a lock on the host. Return 0, -EAGAIN if another owner has it,
 * or another -errno. */
int lock_owner_set(const struct lock_owner *owner, struct flock *lock,
                   bool wait);

/* Record a lock that was set. */
void lock_owner_note(struct lock_owner *owner, const struct flock *lock);

#endif
