/* SPDX-License-Identifier: Apache-2.0
 *
 * inode_place - see inode.h: the last known locations of inodes.
 */
#include "interceptor/inode/inode.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "interceptor/sys/sys.h"

#define PLACES_BYTES (INODE_PLACES * sizeof(uint64_t))

/* A name may hash to any slot: one huge page (if available, madvise(2)) costs
 * one TLB entry and one page fault instead of hundreds. Exhaustion is fatal, as
 * with g_new(). */
_Atomic uint64_t *inode_places_new(void)
{
    char *area = mmap(NULL, 2 * PLACES_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *places;

    if (area == MAP_FAILED)
        g_error("no memory for %zu bytes", 2 * PLACES_BYTES);
    places = area + (-(uintptr_t)area & (PLACES_BYTES - 1));
    if (places > area)
        munmap(area, (size_t)(places - area));
    munmap(places + PLACES_BYTES, (size_t)(area + PLACES_BYTES - places));
    madvise(places, PLACES_BYTES, MADV_HUGEPAGE);
    return (_Atomic uint64_t *)(void *)places;
}

void inode_places_free(_Atomic uint64_t *places)
{
    munmap((void *)places, PLACES_BYTES);
}

static uint64_t place_hash(const struct ic_inode *parent, const char *name)
{
    uint64_t hash = (uintptr_t)parent;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3ull;
    return hash ? hash : 1;
}

int64_t inode_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A slot has a part of the hash, never 0, and below it the inode's number, or 0
 * if that is too long. */
#define SLOT_INO_BITS 40

static _Atomic uint64_t *place_slot(struct inode_table *table, uint64_t hash)
{
    return &inode_table_places(table)[hash % INODE_PLACES];
}

static uint64_t slot_of(uint64_t hash, ino_t ino)
{
    return (hash >> SLOT_INO_BITS | 1) << SLOT_INO_BITS |
           (ino >> SLOT_INO_BITS ? 0 : ino);
}

static bool is_worth_a_look(struct inode_table *table, uint64_t hash)
{
    uint64_t slot = atomic_load_explicit(place_slot(table, hash),
                                         memory_order_relaxed);

    return slot >> SLOT_INO_BITS == slot_of(hash, 0) >> SLOT_INO_BITS;
}

static bool is_noted(struct inode_table *table, uint64_t hash, ino_t ino)
{
    return atomic_load_explicit(place_slot(table, hash),
                                memory_order_relaxed) == slot_of(hash, ino);
}

static void note_place(struct inode_table *table, uint64_t hash, ino_t ino)
{
    if (!is_noted(table, hash, ino))
        atomic_store_explicit(place_slot(table, hash), slot_of(hash, ino),
                              memory_order_relaxed);
}

void inode_leave_place(struct ic_inode *inode)
{
    uint64_t hash = atomic_exchange_explicit(&inode->place_hash, 0,
                                             memory_order_relaxed);

    if (hash != 0 && is_noted(inode->table, hash, inode->ino))
        atomic_store_explicit(place_slot(inode->table, hash), 0,
                              memory_order_relaxed);
}

struct ic_inode *inode_table_find_at(struct inode_table *table,
                                     const struct ic_inode *dir,
                                     const char *name)
{
    uint64_t hash = place_hash(dir, name);
    uint64_t slot = atomic_load_explicit(place_slot(table, hash),
                                         memory_order_relaxed);
    ino_t ino = slot & ((1ull << SLOT_INO_BITS) - 1);
    struct ic_inode *inode;

    if (ino == 0 || slot != slot_of(hash, ino))
        return NULL;
    inode = inode_table_find(table, dir->dev, ino);
    if (inode && inode_is_at(inode, dir, name))
        return inode;
    ic_inode_unhold(inode);
    return NULL;
}

struct ic_inode *inode_table_look(struct inode_table *table,
                                  struct ic_inode *dir, const char *name,
                                  struct stat *ret_stat)
{
    uint64_t hash = place_hash(dir, name);
    struct ic_inode *inode;
    int64_t before;

    if (!is_worth_a_look(table, hash))
        return NULL;
    before = inode_clock();
    if (sys_stat_name(dir->fd, name, ret_stat) < 0)
        return NULL;
    inode = inode_table_find_open(table, ret_stat, dir->other_mount);
    if (!inode)
        return NULL;
    /* Otherwise another inode may have had the number during stat(2). */
    if (inode->opened < before && inode_is_at(inode, dir, name))
        return inode;
    ic_inode_unref(inode);
    return NULL;
}

/* A location is a hint: another one with the same hash does no harm. */
bool inode_is_at(const struct ic_inode *inode, const struct ic_inode *parent,
                 const char *name)
{
    return atomic_load_explicit(&inode->place_hash, memory_order_relaxed) ==
           place_hash(parent, name);
}

/* With inode->lock held. Returns the hold of the former parent. */
static struct ic_inode *move_place(struct ic_inode *inode,
                                   struct ic_inode *parent, const char *name)
{
    struct ic_inode *old = inode->parent;

    g_free(inode->name);
    inode_leave_place(inode);
    inode->parent = ic_inode_hold(parent);
    inode->name = g_strdup(name);
    atomic_store_explicit(&inode->place_hash, place_hash(parent, name),
                          memory_order_relaxed);
    return old;
}

/* n_moved: if not NULL, set only if no names moved since. */
static bool set_place(struct ic_inode *inode, struct ic_inode *parent,
                      const char *name, const unsigned *n_moved)
{
    struct ic_inode *old = NULL;
    bool moved, may = true;

    note_place(inode->table, place_hash(parent, name), inode->ino);
    if (inode == parent)
        return true;
    pthread_mutex_lock(&inode->lock);
    moved = inode->parent != parent || strcmp(inode->name, name) != 0;
    /* A caller that begins to move names now has to wait for the lock. */
    if (moved && n_moved)
        may = inode_table_is_quiet(inode->table, *n_moved);
    if (moved && may)
        old = move_place(inode, parent, name);
    pthread_mutex_unlock(&inode->lock);
    ic_inode_unhold(old);
    /* It can be opened again, so it may be closed now. */
    if (moved && may && inode_table_is_crowded(inode->table))
        inode_ring_add(inode);
    return may;
}

void inode_set_place(struct ic_inode *inode, struct ic_inode *parent,
                     const char *name)
{
    set_place(inode, parent, name, NULL);
}

/* Most lookups find the known location. */
static bool see_place(struct ic_inode *inode, struct ic_inode *parent,
                      const char *name, const unsigned *n_moved)
{
    if (!inode_is_at(inode, parent, name))
        return set_place(inode, parent, name, n_moved);
    note_place(inode->table, place_hash(parent, name), inode->ino);
    return true;
}

void inode_see_place(struct ic_inode *inode, struct ic_inode *parent,
                     const char *name)
{
    see_place(inode, parent, name, NULL);
}

bool inode_see_place_quietly(struct ic_inode *inode, struct ic_inode *parent,
                             const char *name, unsigned n_moved)
{
    return see_place(inode, parent, name, &n_moved);
}

void inode_clear_place(struct ic_inode *inode, const struct ic_inode *dir,
                       const char *name)
{
    struct ic_inode *old = NULL;

    pthread_mutex_lock(&inode->lock);
    if (inode->parent == dir && strcmp(inode->name, name) == 0) {
        old = g_steal_pointer(&inode->parent);
        g_clear_pointer(&inode->name, g_free);
        inode_leave_place(inode);
    }
    pthread_mutex_unlock(&inode->lock);
    ic_inode_unhold(old);
}

static bool is_found_at(const struct ic_inode *inode,
                        const struct ic_inode *dir, const char *name)
{
    struct stat st;

    return sys_stat_name(dir->fd, name, &st) == 0 && st.st_dev == inode->dev &&
           st.st_ino == inode->ino;
}

void inode_check_place(struct ic_inode *inode, const struct ic_inode *dir,
                       const char *name, unsigned n_moved)
{
    if (!inode_table_is_quiet(inode->table, n_moved) &&
        !is_found_at(inode, dir, name))
        inode_clear_place(inode, dir, name);
}

/* A listed inode is not entered in the slots: inode_table_look() needs one that
 * has been open. */
void inode_init_place(struct ic_inode *inode, struct ic_inode *parent,
                      const char *name, bool noted)
{
    inode->parent = ic_inode_hold(parent);
    inode->name = g_strdup(name);
    inode->place_hash = place_hash(parent, name);
    if (noted)
        note_place(inode->table, inode->place_hash, inode->ino);
}

char *ic_inode_last_name(struct ic_inode *inode, uint64_t *ret_dir_tag)
{
    char *name;

    pthread_mutex_lock(&inode->lock);
    name = g_strdup(inode->name);
    *ret_dir_tag = inode->parent ? ic_inode_tag(inode->parent) : 0;
    pthread_mutex_unlock(&inode->lock);
    return name;
}

int inode_get_place(struct ic_inode *inode, struct ic_inode **ret_parent,
                    char **ret_name)
{
    struct ic_inode *parent = NULL;
    g_autofree char *name = NULL;
    int rc;

    pthread_mutex_lock(&inode->lock);
    if (inode->parent) {
        parent = ic_inode_hold(inode->parent);
        name = g_strdup(inode->name);
    }
    pthread_mutex_unlock(&inode->lock);
    if (!parent)
        return 0;
    rc = inode_use(parent);
    ic_inode_unhold(parent);
    if (rc < 0)
        return rc == -ESTALE ? 0 : rc;
    *ret_parent = parent;
    *ret_name = g_steal_pointer(&name);
    return 1;
}
