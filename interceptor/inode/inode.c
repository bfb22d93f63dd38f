/* SPDX-License-Identifier: Apache-2.0
 *
 * inode - see inode.h: the table. inode_ring.c decides which inodes stay open.
 */
#include "interceptor/inode/inode_parts.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/sys/clock.h"
#include "interceptor/sys/sys.h"

/* Attempts to lock a shard before blocking. */
#define SPINS 200u

/* ---- the table ----------------------------------------------------------- */

static uint64_t mix(dev_t dev, ino_t ino)
{
    return ((uint64_t)ino ^ ((uint64_t)dev << 32)) * 0x9e3779b97f4a7c15ull;
}

static guint inode_hash(gconstpointer key)
{
    const struct ic_inode *inode = key;

    return (guint)(mix(inode->dev, inode->ino) >> 16);
}

static gboolean inode_equal(gconstpointer a, gconstpointer b)
{
    const struct ic_inode *x = a, *y = b;

    return x->ino == y->ino && x->dev == y->dev &&
           x->other_mount == y->other_mount;
}

struct inode_shard *inode_shard_of(struct inode_table *table, dev_t dev,
                                   ino_t ino)
{
    return &table->shards[(mix(dev, ino) >> 58) % INODE_SHARDS];
}

/* The lock is held briefly, so spinning beats sleeping. Readers do not block
 * each other. */
void inode_shard_lock(struct inode_shard *shard)
{
    for (unsigned i = 0; i < SPINS; i++) {
        if (pthread_rwlock_trywrlock(&shard->lock) == 0)
            return;
    }
    pthread_rwlock_wrlock(&shard->lock);
}

struct inode_table *inode_table_new(unsigned (*log_links)(dev_t dev, ino_t ino,
                                                          void *opaque),
                                    void *opaque)
{
    struct inode_table *table = g_aligned_alloc0(1, sizeof(*table), 64);

    for (unsigned i = 0; i < INODE_SHARDS; i++) {
        pthread_rwlock_init(&table->shards[i].lock, NULL);
        table->shards[i].inodes = g_hash_table_new(inode_hash, inode_equal);
        table->shards[i].ring = g_ptr_array_new();
    }
    table->places = inode_places_new();
    table->limits.max_open = UINT_MAX;
    table->limits.mount_fd = -1;
    table->log_links = log_links;
    table->opaque = opaque;
    return table;
}

void inode_table_set_limits(struct inode_table *table,
                            const struct inode_table_limits *limits)
{
    table->limits = *limits;
}

const struct inode_table_limits *
inode_table_limits(const struct inode_table *table)
{
    return &table->limits;
}

void inode_table_free(struct inode_table *table)
{
    if (!table)
        return;
    for (unsigned i = 0; i < INODE_SHARDS; i++) {
        g_ptr_array_unref(table->shards[i].ring);
        g_hash_table_unref(table->shards[i].inodes);
        pthread_rwlock_destroy(&table->shards[i].lock);
    }
    closer_free(table->closer);
    fd_close(&table->limits.mount_fd);
    inode_places_free(table->places);
    g_aligned_free(table);
}

_Atomic uint64_t *inode_table_places(struct inode_table *table)
{
    return table->places;
}

bool inode_table_is_crowded(const struct inode_table *table)
{
    return atomic_load_explicit(&table->crowded, memory_order_relaxed) ||
           atomic_load(&table->n_lazy) > 0;
}

void inode_table_free_later(struct inode_table *table)
{
    table->closer = closer_new();
}

bool inode_table_wait_freed(struct inode_table *table)
{
    return table->closer && closer_wait(table->closer);
}

int64_t inode_table_freeing(struct inode_table *table)
{
    return table->closer ? closer_bytes(table->closer) : 0;
}

void inode_table_begin_move(struct inode_table *table)
{
    atomic_fetch_add(&table->n_moving, 1);
}

void inode_table_end_move(struct inode_table *table)
{
    atomic_fetch_add(&table->n_moved, 1);
    atomic_fetch_sub(&table->n_moving, 1);
}

unsigned inode_table_n_moved(struct inode_table *table)
{
    return atomic_load(&table->n_moved);
}

bool inode_table_is_quiet(struct inode_table *table, unsigned n_moved)
{
    return atomic_load(&table->n_moving) == 0 &&
           atomic_load(&table->n_moved) == n_moved;
}

bool inode_table_is_moving_alone(struct inode_table *table, unsigned n_moved)
{
    return atomic_load(&table->n_moving) == 1 &&
           atomic_load(&table->n_moved) == n_moved;
}

/* ---- inodes -------------------------------------------------------------- */

int inode_table_stat(const struct inode_table *table, int fd,
                     struct stat *ret_stat, uint64_t *ret_mount)
{
    *ret_mount = 0;
    return table->mount ? sys_stat_mounted(fd, ret_stat, ret_mount)
                        : sys_stat_fd(fd, ret_stat);
}

bool inode_table_is_other_mount(const struct inode_table *table, int fd,
                                uint64_t mount)
{
    if (table->mount == 0)
        return false;
    if (mount == 0)
        mount = sys_mount_of_fd(fd);
    return mount != 0 && mount != table->mount;
}

void inode_table_set_mount(struct inode_table *table, int dirfd)
{
    table->mount = sys_mount_of_fd(dirfd);
}

void inode_table_note_young(struct inode_table *table)
{
    atomic_store_explicit(&table->notes_young, true, memory_order_relaxed);
}

/* Return the time, or 0 if the inode has not changed for a while. */
static int64_t young_ms(const struct stat *st)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME_COARSE, &now); /* the clock of ctimes */
    return now.tv_sec - st->st_ctim.tv_sec > INODE_YOUNG_S ? 0 : clock_ms();
}

struct ic_inode *inode_new(struct inode_table *table, const struct stat *st,
                           bool other_mount)
{
    struct ic_inode *inode = g_new(struct ic_inode, 1);

    *inode = (struct ic_inode){
        .table = table,
        .dev = st->st_dev,
        .ino = st->st_ino,
        .type = st->st_mode & S_IFMT,
        .other_mount = other_mount,
        .fd = -1,
        .ring_index = INODE_NOT_IN_RING,
    };
    if (atomic_load_explicit(&table->notes_young, memory_order_relaxed))
        inode->young_ms = young_ms(st);
    pthread_mutex_init(&inode->lock, NULL);
    return inode;
}

struct ic_inode *inode_find_locked(struct inode_shard *shard, dev_t dev,
                                   ino_t ino, bool other_mount)
{
    struct ic_inode key = { .dev = dev,
                            .ino = ino,
                            .other_mount = other_mount };

    return g_hash_table_lookup(shard->inodes, &key);
}

/* The shard's lock must be held: the log's link count must not change between
 * the query and the moment when the inode can be found and updated. */
void inode_add_locked(struct inode_table *table, struct inode_shard *shard,
                      struct ic_inode *inode)
{
    if (table->log_links)
        inode->log_links = table->log_links(inode->dev, inode->ino,
                                            table->opaque);
    inode->in_table = true;
    g_hash_table_add(shard->inodes, inode);
}

void inode_forget_locked(struct inode_shard *shard, struct ic_inode *inode)
{
    inode_ring_remove(shard, inode);
    if (inode->in_table)
        g_hash_table_remove(shard->inodes, inode);
    inode->in_table = false;
}

/* Check whether the fd is of this closed, held inode, which has the same
 * number. If not, the number was reused. */
static bool take_closed(struct inode_shard *shard, struct ic_inode *inode,
                        int *inout_fd)
{
    bool same = inode_try_use(inode) || inode_adopt(inode, inout_fd, 0) == 0;

    if (!same) {
        inode_shard_lock(shard);
        inode_forget_locked(shard, inode);
        pthread_rwlock_unlock(&shard->lock);
    }
    ic_inode_unhold(inode);
    return same;
}

/* With the shard locked: take a reference, or a hold if the inode is closed. */
static void take_found(struct ic_inode *inode, bool *ret_closed)
{
    *ret_closed = !inode_try_use(inode);
    if (*ret_closed)
        ic_inode_hold(inode);
}

static struct ic_inode *find_known(struct inode_shard *shard,
                                   const struct stat *st, bool other_mount,
                                   bool *ret_closed)
{
    struct ic_inode *inode;

    pthread_rwlock_rdlock(&shard->lock);
    inode = inode_find_locked(shard, st->st_dev, st->st_ino, other_mount);
    if (inode)
        take_found(inode, ret_closed);
    pthread_rwlock_unlock(&shard->lock);
    return inode;
}

static struct ic_inode *find_or_add(struct inode_table *table,
                                    struct inode_shard *shard, int *inout_fd,
                                    const struct stat *st, bool other_mount,
                                    bool *ret_closed, bool *ret_added)
{
    struct ic_inode *inode;

    inode_shard_lock(shard);
    inode = inode_find_locked(shard, st->st_dev, st->st_ino, other_mount);
    *ret_added = !inode;
    if (inode) {
        take_found(inode, ret_closed);
    } else {
        inode = inode_new(table, st, other_mount);
        inode->fd = fd_steal(inout_fd);
        inode->opened = inode_clock();
        inode->counts = INODE_REFERENCE;
        *ret_closed = false;
        inode_add_locked(table, shard, inode);
        inode_ring_insert(table, shard, inode);
    }
    pthread_rwlock_unlock(&shard->lock);
    return inode;
}

/* Return whether an inode found at this name may be behind another mount.
 * known: the inode it would be on the share's mount. No query is needed if
 * known was last seen at this name. */
static bool is_behind_mount(const struct inode_table *table, int fd,
                            uint64_t mount, const struct ic_inode *known,
                            const struct ic_inode *parent, const char *name)
{
    return !(mount == 0 && known && inode_is_at(known, parent, name)) &&
           inode_table_is_other_mount(table, fd, mount);
}

static void give_back_found(struct ic_inode *inode, bool closed)
{
    if (inode && closed)
        ic_inode_unhold(inode);
    else if (inode)
        ic_inode_unref(inode);
}

struct ic_inode *inode_table_take(struct inode_table *table, int fd,
                                  const struct stat *st, uint64_t mount,
                                  struct ic_inode *parent, const char *name)
{
    struct inode_shard *shard = inode_shard_of(table, st->st_dev, st->st_ino);
    bool other = parent ? parent->other_mount
                        : inode_table_is_other_mount(table, fd, mount);
    struct ic_inode *inode;
    bool closed = false, added;

    do {
        added = false;
        inode = find_known(shard, st, other, &closed);
        if (parent && !other &&
            is_behind_mount(table, fd, mount, inode, parent, name)) {
            give_back_found(inode, closed);
            other = true;
            inode = find_known(shard, st, other, &closed);
        }
        if (!inode)
            inode = find_or_add(table, shard, &fd, st, other, &closed, &added);
    } while (closed && !take_closed(shard, inode, &fd));
    fd_close(&fd);
    if (parent)
        inode_see_place(inode, parent, name);
    if (added)
        inode_ring_shorten(table, shard);
    return inode;
}

struct ic_inode *inode_table_find_open(struct inode_table *table,
                                       const struct stat *st, bool other_mount)
{
    struct inode_shard *shard = inode_shard_of(table, st->st_dev, st->st_ino);
    bool closed;
    struct ic_inode *inode = find_known(shard, st, other_mount, &closed);

    if (!inode || !closed)
        return inode;
    ic_inode_unhold(inode);
    return NULL;
}

struct ic_inode *inode_table_find(struct inode_table *table, dev_t dev,
                                  ino_t ino)
{
    struct inode_shard *shard = inode_shard_of(table, dev, ino);
    struct ic_inode *inode;

    pthread_rwlock_rdlock(&shard->lock);
    inode = inode_find_locked(shard, dev, ino, false);
    if (inode)
        ic_inode_hold(inode);
    pthread_rwlock_unlock(&shard->lock);
    return inode;
}
