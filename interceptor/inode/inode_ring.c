/* SPDX-License-Identifier: Apache-2.0
 *
 * inode_ring - see inode.h: which inodes are open, and which of them to close.
 *
 * A clock algorithm in each shard: the hand skips an inode once if it was used
 * since the hand last passed.
 */
#include <string.h>

#include "interceptor/inode/inode_parts.h"

/* Limit of the hand's steps for each new inode. */
#define HAND_STEPS 32u

static unsigned ring_max(const struct inode_table *table)
{
    return MAX(table->limits.max_open / INODE_SHARDS, 1);
}

void inode_ring_remove(struct inode_shard *shard, struct ic_inode *inode)
{
    unsigned index = inode->ring_index;
    struct ic_inode *moved;

    if (index == INODE_NOT_IN_RING)
        return;
    g_ptr_array_remove_index_fast(shard->ring, index);
    if (index < shard->ring->len) {
        moved = g_ptr_array_index(shard->ring, index);
        moved->ring_index = index;
    }
    inode->ring_index = INODE_NOT_IN_RING;
}

void inode_ring_insert(struct inode_table *table, struct inode_shard *shard,
                       struct ic_inode *inode)
{
    if (inode->ring_index != INODE_NOT_IN_RING || !inode->in_table ||
        atomic_load(&inode->counts) & INODE_CLOSED)
        return;
    inode->ring_index = shard->ring->len;
    g_ptr_array_add(shard->ring, inode);
    if (shard->ring->len > ring_max(table) / 2 &&
        !atomic_load_explicit(&table->crowded, memory_order_relaxed))
        atomic_store(&table->crowded, true);
}

/* With the shard's lock held: return an inode that is unused and was not used
 * lately, marked CLOSED and with a hold. */
static struct ic_inode *pick_victim(struct inode_shard *shard,
                                    unsigned *inout_steps)
{
    for (; *inout_steps > 0 && shard->ring->len > 0; (*inout_steps)--) {
        struct ic_inode *inode;
        uint64_t counts;

        if (shard->hand >= shard->ring->len)
            shard->hand = 0;
        inode = g_ptr_array_index(shard->ring, shard->hand);
        counts = atomic_load_explicit(&inode->counts, memory_order_relaxed);
        if (!atomic_exchange_explicit(&inode->used, false,
                                      memory_order_relaxed) &&
            !(counts & (INODE_REFERENCES | INODE_CLOSED)) &&
            atomic_compare_exchange_strong(&inode->counts, &counts,
                                           (counts | INODE_CLOSED) +
                                               INODE_HOLD)) {
            inode_ring_remove(shard, inode);
            return inode;
        }
        shard->hand++;
    }
    return NULL;
}

/* steps: limit of the hand; 0: two rounds, since the first only clears the
 * marks. */
static unsigned release(struct inode_shard *shard, unsigned max_left,
                        unsigned steps, unsigned n)
{
    bool whole = steps == 0;
    unsigned closed = 0;
    struct ic_inode *inode = NULL;

    do {
        inode_shard_lock(shard);
        if (whole && closed == 0)
            steps = 2 * shard->ring->len + 1;
        inode = shard->ring->len > max_left ? pick_victim(shard, &steps) : NULL;
        pthread_rwlock_unlock(&shard->lock);
        if (inode && inode_close(inode))
            closed++;
    } while (inode && closed < n);
    return closed;
}

unsigned inode_table_release(struct inode_table *table, unsigned n)
{
    static _Atomic unsigned start;
    unsigned from = atomic_fetch_add(&start, 1);
    unsigned closed = 0;

    atomic_store(&table->crowded, true);
    for (unsigned i = 0; i < INODE_SHARDS && closed < n; i++) {
        struct inode_shard *shard = &table->shards[(from + i) % INODE_SHARDS];

        closed += release(shard, 0, 0, n - closed);
    }
    return closed == 0 && inode_table_wait_freed(table) ? 1 : closed;
}

void inode_ring_shorten(struct inode_table *table, struct inode_shard *shard)
{
    release(shard, ring_max(table), HAND_STEPS, 2);
}

void inode_ring_add(struct ic_inode *inode)
{
    struct inode_table *table = inode->table;
    struct inode_shard *shard = inode_shard_of(table, inode->dev, inode->ino);

    inode_shard_lock(shard);
    inode_ring_insert(table, shard, inode);
    pthread_rwlock_unlock(&shard->lock);
    inode_ring_shorten(table, shard);
}
