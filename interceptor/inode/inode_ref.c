/* SPDX-License-Identifier: Apache-2.0
 *
 * inode_ref - see inode.h: references and holds.
 */
#include "interceptor/inode/inode_parts.h"

#include "common/fd.h"
#include "interceptor/sys/sys.h"

struct ic_inode *ic_inode_ref(struct ic_inode *inode)
{
    atomic_fetch_add_explicit(&inode->counts, INODE_REFERENCE,
                              memory_order_relaxed);
    return inode;
}

struct ic_inode *ic_inode_hold(struct ic_inode *inode)
{
    atomic_fetch_add_explicit(&inode->counts, INODE_HOLD, memory_order_relaxed);
    return inode;
}

bool inode_ref_open(struct ic_inode *inode)
{
    uint64_t counts = atomic_load_explicit(&inode->counts,
                                           memory_order_relaxed);

    do {
        if (counts & INODE_CLOSED)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(
        &inode->counts, &counts, counts + INODE_REFERENCE, memory_order_acquire,
        memory_order_relaxed));
    return true;
}

bool inode_try_use(struct ic_inode *inode)
{
    if (!inode_ref_open(inode))
        return false;
    if (!atomic_load_explicit(&inode->used, memory_order_relaxed))
        atomic_store_explicit(&inode->used, true, memory_order_relaxed);
    return true;
}

/* Drop one reference or hold. Returns true if it was the last of all: the inode
 * is then out of the table and the caller's. Takes the lock only if it may be
 * the last. */
static bool drop(struct ic_inode *inode, uint64_t one)
{
    struct inode_shard *shard = inode_shard_of(inode->table, inode->dev,
                                               inode->ino);
    uint64_t counts = atomic_load_explicit(&inode->counts,
                                           memory_order_relaxed);
    bool last;

    while ((counts & ~INODE_CLOSED) != one) {
        if (atomic_compare_exchange_weak(&inode->counts, &counts, counts - one))
            return false;
    }
    inode_shard_lock(shard);
    counts = atomic_fetch_sub(&inode->counts, one);
    last = (counts & ~INODE_CLOSED) == one;
    if (last)
        inode_forget_locked(shard, inode);
    pthread_rwlock_unlock(&shard->lock);
    return last;
}

void inode_note_size(struct ic_inode *inode, off_t size)
{
    if (size >= INODE_MUCH_DATA && inode->table->closer &&
        !atomic_load_explicit(&inode->has_much, memory_order_relaxed))
        atomic_store_explicit(&inode->has_much, true, memory_order_relaxed);
}

/* Return how many bytes closing the fd frees, if the fd is the file's last and
 * they are many; else 0. 0 also for another filesystem, and if fds are short,
 * since no caller would wait for them. */
static int64_t takes_long_to_close(const struct ic_inode *inode)
{
    const struct inode_table_limits *limits = &inode->table->limits;
    struct stat st;

    if (inode->fd < 0 || inode->dev != limits->dev ||
        !atomic_load_explicit(&inode->has_much, memory_order_relaxed) ||
        (limits->is_reserved_fd && limits->is_reserved_fd(inode->fd)) ||
        sys_stat_fd(inode->fd, &st) < 0 || st.st_nlink > 0 ||
        st.st_blocks * 512 < INODE_MUCH_DATA)
        return 0;
    return st.st_blocks * 512;
}

static void give_back(struct ic_inode *inode, uint64_t one)
{
    /* No recursion: a path may be deep. */
    while (inode && drop(inode, one)) {
        struct ic_inode *parent = inode->parent;
        int64_t much = takes_long_to_close(inode);

        inode_leave_place(inode);
        inode_end_lazy(inode);
        if (much > 0)
            closer_take(inode->table->closer, fd_steal(&inode->fd), much);
        fd_close(&inode->fd);
        pthread_mutex_destroy(&inode->lock);
        g_free(inode->handle);
        g_free(inode->name);
        g_free(inode);
        inode = parent;
        one = INODE_HOLD;
    }
}

void ic_inode_unref(struct ic_inode *inode)
{
    give_back(inode, INODE_REFERENCE);
}

void ic_inode_unhold(struct ic_inode *inode)
{
    give_back(inode, INODE_HOLD);
}

int ic_inode_fd(const struct ic_inode *inode)
{
    return inode->fd;
}

dev_t ic_inode_dev(const struct ic_inode *inode)
{
    return inode->dev;
}

ino_t ic_inode_ino(const struct ic_inode *inode)
{
    return inode->ino;
}

mode_t ic_inode_type(const struct ic_inode *inode)
{
    return inode->type;
}

uint64_t ic_inode_tag(const struct ic_inode *inode)
{
    return atomic_load_explicit(&inode->tag, memory_order_acquire);
}

void inode_end_tag(struct inode_table *table, dev_t dev, ino_t ino)
{
    struct ic_inode *inode = inode_table_find(table, dev, ino);

    if (inode)
        atomic_store(&inode->tag, 0);
    ic_inode_unhold(inode);
}

bool ic_inode_change_tag(struct ic_inode *inode, uint64_t from, uint64_t to)
{
    return atomic_compare_exchange_strong(&inode->tag, &from, to);
}
