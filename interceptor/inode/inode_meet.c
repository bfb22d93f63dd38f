/* SPDX-License-Identifier: Apache-2.0
 *
 * inode_meet - see inode.h: inodes that are known before they are open.
 *
 * The number and the btime, which one statx(2) of a name returns, identify such
 * an inode. A later inode with the same number has a btime that is later by at
 * least one clock tick. So inodes hardly older than a tick are excluded, and so
 * are other filesystems than the share's and anything behind a mount.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <time.h>

#include "interceptor/inode/inode_parts.h"
#include "interceptor/sys/rights.h"
#include "interceptor/sys/sys.h"

/* btimes come from the kernel's coarse clock, whose tick is 10 ms at most
 * (CONFIG_HZ_100). */
#define OLD_ENOUGH_NS 100000000

static bool is_old_enough(const struct timespec *born,
                          const struct timespec *now)
{
    int64_t seconds = (int64_t)now->tv_sec - born->tv_sec;

    /* A btime in the future is not old enough either. */
    return seconds > 1 || (seconds >= 0 && seconds * 1000000000 + now->tv_nsec -
                                                   born->tv_nsec >=
                                               OLD_ENOUGH_NS);
}

static bool is_on_share(const struct inode_table *table,
                        const struct sys_born *found)
{
    return found->st.st_dev == table->limits.dev &&
           (table->mount == 0 || found->mount == table->mount);
}

/* Three reasons to open the inode instead. A client can have an inode that is
 * not a file open, or be in it, without a request. With file handles, moved
 * inodes are found, but only if they were open first. And a process that obeys
 * modes may find nothing in a folder whose mode its client has changed. */
static bool may_be_met(const struct inode_table *table, mode_t mode,
                       enum inode_meeting meeting)
{
    return meeting == INODE_LISTED ||
           (table->limits.handles == IC_FILE_HANDLES_NEVER &&
            (S_ISREG(mode) || S_ISLNK(mode)) && rights_override_mode());
}

/* Returns 0, -ENOENT or -EAGAIN. */
static int look(const struct inode_table *table, const struct ic_inode *dir,
                const char *name, enum inode_meeting meeting,
                struct sys_born *ret_found)
{
    struct timespec now;
    int rc;

    /* The clock of btimes; also faster. */
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    rc = sys_stat_born(dir->fd, name, ret_found);
    if (rc < 0)
        return rc == -ENOENT ? rc : -EAGAIN;
    return is_on_share(table, ret_found) &&
                   is_old_enough(&ret_found->born, &now) &&
                   may_be_met(table, ret_found->st.st_mode, meeting)
               ? 0
               : -EAGAIN;
}

static uint64_t fingerprint_of(const struct sys_born *found)
{
    return inode_btime_fingerprint(found->born.tv_sec,
                                   (uint32_t)found->born.tv_nsec);
}

/* Return whether the inode is closed, was never open, and is the one found.
 * With inode->lock held. */
static bool is_same_closed(const struct ic_inode *inode,
                           const struct sys_born *found)
{
    return inode->fd < 0 && inode->has_btime_fingerprint &&
           inode->fingerprint == fingerprint_of(found);
}

/* The same, and whether it may stay closed. */
static bool may_stay_closed(struct ic_inode *inode,
                            const struct sys_born *found,
                            enum inode_meeting meeting, unsigned n_moved)
{
    bool may;

    pthread_mutex_lock(&inode->lock);
    may = is_same_closed(inode, found) &&
          (meeting == INODE_LISTED || !inode->looked_up);
    if (may && meeting == INODE_LOOKED_UP) {
        inode->looked_up = true;
        inode->looked_up_at = n_moved;
    }
    pthread_mutex_unlock(&inode->lock);
    return may;
}

/* Return whether the inode is the one found and may stay as it is, open or
 * closed. before: the time of the look, by inode_clock(). The caller has a
 * hold. */
static bool is_same(struct ic_inode *inode, const struct sys_born *found,
                    int64_t before, enum inode_meeting meeting,
                    unsigned n_moved)
{
    bool same;

    if (!inode_ref_open(inode))
        return may_stay_closed(inode, found, meeting, n_moved);
    /* If it was opened later, another inode may have had the number during the
     * look. */
    same = inode->opened < before;
    ic_inode_unref(inode);
    return same;
}

static struct ic_inode *new_closed(struct inode_table *table,
                                   const struct sys_born *found,
                                   struct ic_inode *dir, const char *name,
                                   enum inode_meeting meeting, unsigned n_moved)
{
    struct ic_inode *inode = inode_new(table, &found->st, false);

    inode->counts = INODE_HOLD | INODE_CLOSED;
    inode->has_btime_fingerprint = true;
    atomic_fetch_add(&table->n_lazy, 1);
    inode->fingerprint = fingerprint_of(found);
    inode->looked_up = meeting == INODE_LOOKED_UP;
    inode->looked_up_at = n_moved;
    inode_init_place(inode, dir, name, inode->looked_up);
    return inode;
}

void inode_end_lazy(struct ic_inode *inode)
{
    if (inode->has_btime_fingerprint)
        atomic_fetch_sub(&inode->table->n_lazy, 1);
    inode->has_btime_fingerprint = false;
}

/* Put fresh (ownership taken) into the table, or return the one already there.
 */
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

int inode_table_meet(struct inode_table *table, struct ic_inode *dir,
                     const char *name, enum inode_meeting meeting,
                     struct ic_inode **ret_inode, struct stat *ret_stat)
{
    unsigned n_moved = inode_table_n_moved(table);
    int64_t before = inode_clock();
    struct inode_shard *shard;
    struct sys_born found;
    struct ic_inode *inode, *fresh = NULL;
    bool is_certain;
    int rc = table->limits.has_lazy && !dir->other_mount
                 ? look(table, dir, name, meeting, &found)
                 : -EAGAIN;

    if (rc < 0)
        return rc;
    shard = inode_shard_of(table, found.st.st_dev, found.st.st_ino);
    /* Most listed inodes are known; inodes looked up are new. */
    inode = meeting == INODE_LISTED
                ? inode_table_find(table, found.st.st_dev, found.st.st_ino)
                : NULL;
    if (!inode) {
        fresh = new_closed(table, &found, dir, name, meeting, n_moved);
        inode = add(table, shard, fresh);
    }
    is_certain = inode == fresh ||
                 (is_same(inode, &found, before, meeting, n_moved) &&
                  inode_see_place_quietly(inode, dir, name, n_moved));
    /* Otherwise it may have moved, and the mover did not know that it must
     * report the move. */
    if (!is_certain || !inode_table_is_quiet(table, n_moved)) {
        ic_inode_unhold(inode);
        return -EAGAIN;
    }
    *ret_inode = inode;
    *ret_stat = found.st;
    return 0;
}

/* Stat the inode at its last known location, without opening its parents. */
static int look_in_place(struct ic_inode *inode, struct sys_born *ret_found)
{
    struct ic_inode *parent = NULL;
    char name[NAME_MAX + 1];
    int rc;

    pthread_mutex_lock(&inode->lock);
    if (inode->has_btime_fingerprint && inode->parent &&
        inode_try_use(inode->parent)) {
        parent = inode->parent;
        g_strlcpy(name, inode->name, sizeof(name));
    }
    pthread_mutex_unlock(&inode->lock);
    if (!parent)
        return -EAGAIN;
    rc = sys_stat_born(parent->fd, name, ret_found);
    ic_inode_unref(parent);
    return rc;
}

int inode_stat_held(struct ic_inode *inode, struct stat *ret_stat)
{
    struct sys_born found;
    bool same;

    if (look_in_place(inode, &found) < 0 || found.st.st_ino != inode->ino ||
        !is_on_share(inode->table, &found))
        return -EAGAIN;
    pthread_mutex_lock(&inode->lock);
    same = is_same_closed(inode, &found);
    pthread_mutex_unlock(&inode->lock);
    if (!same)
        return -EAGAIN;
    *ret_stat = found.st;
    return 0;
}
