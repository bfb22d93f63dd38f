/* SPDX-License-Identifier: Apache-2.0
 *
 * inode_parts - the table of inodes, for the inode_*.c alone.
 */
#ifndef INTERCEPTOR_INODE_INODE_PARTS_H
#define INTERCEPTOR_INODE_INODE_PARTS_H

#include "interceptor/inode/closer.h"
#include "interceptor/inode/inode.h"

#define INODE_SHARDS 64u

struct inode_shard {
    pthread_rwlock_t lock;
    GHashTable *inodes; /* a set of borrowed ic_inode, by what they are */
    GPtrArray *ring;    /* those whose fd may be closed; borrowed */
    unsigned hand;
} __attribute__((aligned(64)));

struct inode_table {
    struct inode_shard shards[INODE_SHARDS];
    struct inode_table_limits limits;
    atomic_bool crowded;
    atomic_uint n_lazy;       /* that have not been open yet */
    atomic_uint n_moving;     /* changes of names that are being made */
    atomic_uint n_moved;      /* and that were */
    uint64_t mount;           /* 0: not known */
    _Atomic uint64_t *places; /* INODE_PLACES */
    unsigned (*log_links)(dev_t dev, ino_t ino, void *opaque);
    void *opaque;
    struct closer *closer; /* of removed files with much data; or NULL */
};

/* Does nothing but the log hold it? What the log has of it is no name. */
bool inode_has_no_name(const struct ic_inode *inode, const struct stat *st);

struct inode_shard *inode_shard_of(struct inode_table *table, dev_t dev,
                                   ino_t ino);

/* For the time of a look into a hash. */
void inode_shard_lock(struct inode_shard *shard);

/* One that is not in the table yet: counts, fd and place are the caller's to
 * set. */
struct ic_inode *inode_new(struct inode_table *table, const struct stat *st,
                           bool other_mount);

/* With the shard's lock held. Borrowed, or NULL. */
struct ic_inode *inode_find_locked(struct inode_shard *shard, dev_t dev,
                                   ino_t ino, bool other_mount);
void inode_add_locked(struct inode_table *table, struct inode_shard *shard,
                      struct ic_inode *inode);

/* These two with the shard's lock held. */
void inode_ring_remove(struct inode_shard *shard, struct ic_inode *inode);
void inode_ring_insert(struct inode_table *table, struct inode_shard *shard,
                       struct ic_inode *inode);

/* One was added: close some, if there are too many. Without the lock. */
void inode_ring_shorten(struct inode_table *table, struct inode_shard *shard);

#endif
