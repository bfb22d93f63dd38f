/* SPDX-License-Identifier: Apache-2.0
 *
 * inode_meet - see inode.h: inodes that are known before they are open.
 *
 * What identifies them is the number and the time of birth that one statx(2)
 * tells of a name. Who gets the number later is born later, by a tick of the
 * clock at least: so what is hardly older than a tick is not for this. No other
 * than the share's filesystem is, nor what is behind a mount.
 */
#include <string.h>
#include <time.h>

#include "interceptor/inode_parts.h"
#include "interceptor/sys.h"

/* Times of birth come from the kernel's coarse clock, whose tick is 10 ms at
 * most (CONFIG_HZ_100). */
#define OLD_ENOUGH_NS 100000000

static bool is_old_enough(const struct timespec *born,
                          const struct timespec *now)
{
    int64_t seconds = (int64_t)now->tv_sec - born->tv_sec;

    /* Also the other way round: what is born in the future is not old. */
    return seconds > 1 || (seconds >= 0 && seconds * 1000000000 + now->tv_nsec -
                                                   born->tv_nsec >=
                                               OLD_ENOUGH_NS);
}

static bool look(const struct inode_table *table, const struct ic_inode *dir,
                 const char *name, struct sys_born *ret_found)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return sys_stat_born(dir->fd, name, ret_found) == 0 &&
           ret_found->st.st_dev == table->limits.dev &&
           (table->mount == 0 || ret_found->mount == table->mount) &&
           is_old_enough(&ret_found->born, &now);
}

static uint64_t print_of(const struct sys_born *found)
{
    return inode_print_of_birth(found->born.tv_sec,
                                (uint32_t)found->born.tv_nsec);
}

/* before: the look, by inode_clock(). The caller has a hold. */
static bool is_same(struct ic_inode *inode, const struct sys_born *found,
                    int64_t before)
{
    bool same;

    if (inode_ref_open(inode)) {
        /* Else the number may have been another's when it was looked at. */
        same = inode->opened < before;
        ic_inode_unref(inode);
        return same;
    }
    pthread_mutex_lock(&inode->lock);
    same = inode->fd < 0 && inode->is_print_of_birth &&
           inode->print == print_of(found);
    pthread_mutex_unlock(&inode->lock);
    return same;
}

static struct ic_inode *new_closed(struct inode_table *table,
                                   const struct sys_born *found,
                                   struct ic_inode *dir, const char *name)
{
    struct ic_inode *inode = inode_new(table, &found->st, false);

    inode->counts = INODE_HOLD | INODE_CLOSED;
    inode->is_print_of_birth = true;
    atomic_fetch_add(&table->n_lazy, 1);
    inode->print = print_of(found);
    inode_init_place(inode, dir, name);
    return inode;
}

void inode_end_lazy(struct ic_inode *inode)
{
    if (inode->is_print_of_birth)
        atomic_fetch_sub(&inode->table->n_lazy, 1);
    inode->is_print_of_birth = false;
}

/* fresh (taken) is in the table then, or the one that was there before. */
static struct ic_inode *add(struct inode_table *table,
                            struct inode_shard *shard, struct ic_inode *fresh)
{
    struct ic_inode *known;

    inode_shard_lock(shard);
    known = inode_find_locked(shard, fresh->dev, fresh->ino, false);
    if (known)
        ic_inode_hold(known);
    else
        inode_add_locked(table, shard, fresh);
    pthread_rwlock_unlock(&shard->lock);
    if (!known)
        return fresh;
    ic_inode_unhold(fresh);
    return known;
}

struct ic_inode *inode_table_meet(struct inode_table *table,
                                  struct ic_inode *dir, const char *name,
                                  struct stat *ret_stat)
{
    unsigned n_moved = inode_table_n_moved(table);
    int64_t before = inode_clock();
    struct inode_shard *shard;
    struct sys_born found;
    struct ic_inode *inode, *fresh = NULL;
    bool is_certain;

    if (!table->limits.has_lazy || dir->other_mount ||
        !look(table, dir, name, &found))
        return NULL;
    shard = inode_shard_of(table, found.st.st_dev, found.st.st_ino);
    inode = inode_table_find(table, found.st.st_dev, found.st.st_ino);
    if (!inode) {
        fresh = new_closed(table, &found, dir, name);
        inode = add(table, shard, fresh);
    }
    is_certain = inode == fresh ||
                 (is_same(inode, &found, before) &&
                  inode_see_place_quietly(inode, dir, name, n_moved));
    /* Else it may not be where it was seen, and who moved it did not know that
     * it is to be told. */
    if (!is_certain || !inode_table_is_quiet(table, n_moved)) {
        ic_inode_unhold(inode);
        return NULL;
    }
    *ret_stat = found.st;
    return inode;
}
