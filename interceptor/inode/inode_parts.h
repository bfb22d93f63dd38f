/* SPDX-License-Identifier: Apache-2.0
 *
 * inode_parts - the table of inodes; private to inode_*.c.
 */
#ifndef INTERCEPTOR_INODE_INODE_PARTS_H
#define INTERCEPTOR_INODE_INODE_PARTS_H

#include "interceptor/inode/closer.h"
#include "interceptor/inode/inode.h"

#define INODE_SHARDS 64u

struct inode_shard {
    pthread_rwlock_t lock;
    GHashTable *inodes; /* set of borrowed ic_inode, by identity */
    GPtrArray *ring;    /* inodes whose fd may be closed; borrowed */
    unsigned hand;
} __attribute__((aligned(64)));

struct inode_table {
    struct inode_shard shards[INODE_SHARDS];
    struct inode_table_limits limits;
    atomic_bool crowded;
    atomic_bool notes_young;
    atomic_uint n_lazy;       /* inodes that have never been open */
    atomic_uint n_moving;     /* changes of names in progress */
    atomic_uint n_moved;      /* and those that have ended */
    uint64_t mount;           /* id of the share's mount; 0: unknown */
    _Atomic uint64_t *places; /* INODE_PLACES slots */
    unsigned (*log_links)(dev_t dev, ino_t ino, void *opaque);
    void *opaque;
    struct closer *closer; /* for removed files with much data; or NULL */
};

/* Return whether the inode has no name, or only the log has it; a link in the
 * log is not a name. */
bool inode_has_no_name(const struct ic_inode *inode, const struct stat *st);

struct inode_shard *inode_shard_of(struct inode_table *table, dev_t dev,
                                   ino_t ino);

/* Only for the duration of a hash lookup. */
void inode_shard_lock(struct inode_shard *shard);

/* Make an inode that is not in the table yet; the caller sets counts, fd and
 * location. */
struct ic_inode *inode_new(struct inode_table *table, const struct stat *st,
                           bool other_mount);

/* With the shard's lock held. Borrowed, or NULL. */
struct ic_inode *inode_find_locked(struct inode_shard *shard, dev_t dev,
                                   ino_t ino, bool other_mount);
void inode_add_locked(struct inode_table *table, struct inode_shard *shard,
                      struct ic_inode *inode);
void inode_forget_locked(struct inode_shard *shard, struct ic_inode *inode);

/* These two with the shard's lock held. */
void inode_ring_remove(struct inode_shard *shard, struct ic_inode *inode);
void inode_ring_insert(struct inode_table *table, struct inode_shard *shard,
                       struct ic_inode *inode);

/* An inode was added: close some if there are too many. Without the lock. */
void inode_ring_shorten(struct inode_table *table, struct inode_shard *shard);

#endif
