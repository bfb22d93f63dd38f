/* SPDX-License-Identifier: Apache-2.0
 *
 * fids - see fids.h.
 */
#include "p9/server/fids.h"

#include <errno.h>
#include <string.h>

#include "common/fd.h"

struct p9_fids {
    pthread_mutex_t lock; /* guards table */
    GHashTable *table;    /* id -> struct p9_fid, one reference each */
    atomic_uint *all;     /* number of objects of all connections */
    atomic_uint count;    /* of this connection, in the table or not */
    atomic_size_t xattr_bytes;
    p9_fid_ended *ended;
    void *opaque;
};

struct p9_fids *p9_fids_new(atomic_uint *all, p9_fid_ended *ended, void *opaque)
{
    struct p9_fids *fids = g_new0(struct p9_fids, 1);

    pthread_mutex_init(&fids->lock, NULL);
    fids->table = g_hash_table_new(NULL, NULL);
    fids->all = all;
    fids->ended = ended;
    fids->opaque = opaque;
    return fids;
}

void p9_fids_free(struct p9_fids *fids)
{
    if (!fids)
        return;
    p9_fids_clear(fids);
    g_hash_table_unref(fids->table);
    pthread_mutex_destroy(&fids->lock);
    g_free(fids);
}

/* ---- objects ------------------------------------------------------------- */

static void uncount(struct p9_fids *fids)
{
    atomic_fetch_sub(&fids->count, 1);
    atomic_fetch_sub(fids->all, 1);
}

static bool count(struct p9_fids *fids)
{
    unsigned own = atomic_fetch_add(&fids->count, 1);
    unsigned all = atomic_fetch_add(fids->all, 1);

    if (own < P9_MAX_FIDS && all < P9_MAX_FIDS_ALL)
        return true;
    uncount(fids);
    return false;
}

struct p9_fid *p9_fid_new(struct p9_fids *fids, struct ic_inode *inode,
                          struct p9_place *place, const struct p9_fid *like)
{
    struct p9_fid *fid;

    if (!count(fids)) {
        ic_inode_unref(inode);
        p9_place_unref(place);
        return NULL;
    }
    fid = g_new0(struct p9_fid, 1);
    fid->fids = fids;
    fid->refs = 1;
    fid->inode = ic_inode_hold(inode);
    fid->root = ic_inode_hold(like ? like->root : inode);
    fid->place = place;
    fid->uid = like ? like->uid : 0;
    fid->fd = -1;
    pthread_mutex_init(&fid->lock, NULL);
    ic_inode_unref(inode);
    return fid;
}

int p9_fid_reserve(struct p9_fid *fid, size_t size)
{
    atomic_size_t *bytes = &fid->fids->xattr_bytes;

    if (atomic_fetch_add(bytes, size) + size > P9_MAX_XATTR_BYTES) {
        atomic_fetch_sub(bytes, size);
        return -ENOMEM;
    }
    fid->size = size;
    fid->value = g_malloc0(MAX(size, 1));
    return 0;
}

struct p9_fid *p9_fid_ref(struct p9_fid *fid)
{
    atomic_fetch_add(&fid->refs, 1);
    return fid;
}

static void destroy(struct p9_fid *fid)
{
    struct p9_fids *fids = fid->fids;

    fids->ended(fid, fids->opaque);
    if (fid->dir)
        dir_stream_free(fid->dir);
    fd_close(&fid->fd);
    if (fid->value)
        atomic_fetch_sub(&fids->xattr_bytes, fid->size);
    g_free(fid->value);
    g_free(fid->xattr);
    if (fid->owners)
        g_array_unref(fid->owners);
    ic_inode_unhold(fid->inode);
    ic_inode_unhold(fid->root);
    p9_place_unref(fid->place);
    pthread_mutex_destroy(&fid->lock);
    g_free(fid);
    uncount(fids);
}

void p9_fid_unref(struct p9_fid *fid)
{
    if (fid && atomic_fetch_sub(&fid->refs, 1) == 1)
        destroy(fid);
}

/* ---- places -------------------------------------------------------------- */

struct p9_place *p9_place_new(struct ic_inode *dir, const char *name)
{
    size_t size = strlen(name) + 1;
    struct p9_place *place = g_malloc(sizeof(*place) + size);

    place->refs = 1;
    place->dir = ic_inode_hold(dir);
    memcpy(place->name, name, size);
    return place;
}

void p9_place_unref(struct p9_place *place)
{
    if (!place || atomic_fetch_sub(&place->refs, 1) != 1)
        return;
    ic_inode_unhold(place->dir);
    g_free(place);
}

struct p9_place *p9_fid_place(struct p9_fid *fid)
{
    struct p9_place *place;

    pthread_mutex_lock(&fid->lock);
    place = fid->place;
    if (place)
        atomic_fetch_add(&place->refs, 1);
    pthread_mutex_unlock(&fid->lock);
    return place;
}

void p9_fid_move(struct p9_fid *fid, struct p9_place *place)
{
    struct p9_place *old;

    pthread_mutex_lock(&fid->lock);
    old = fid->place;
    fid->place = place;
    pthread_mutex_unlock(&fid->lock);
    p9_place_unref(old);
}

/* ---- the table ----------------------------------------------------------- */

struct p9_fid *p9_fids_get(struct p9_fids *fids, uint32_t id)
{
    struct p9_fid *fid;

    pthread_mutex_lock(&fids->lock);
    fid = g_hash_table_lookup(fids->table, GUINT_TO_POINTER(id));
    if (fid)
        p9_fid_ref(fid);
    pthread_mutex_unlock(&fids->lock);
    return fid;
}

bool p9_fids_has(struct p9_fids *fids, uint32_t id)
{
    bool has;

    pthread_mutex_lock(&fids->lock);
    has = g_hash_table_contains(fids->table, GUINT_TO_POINTER(id));
    pthread_mutex_unlock(&fids->lock);
    return has;
}

int p9_fids_add(struct p9_fids *fids, uint32_t id, struct p9_fid *fid)
{
    gpointer key = GUINT_TO_POINTER(id);
    bool free_id;

    pthread_mutex_lock(&fids->lock);
    free_id = id != UINT32_MAX && !g_hash_table_contains(fids->table, key);
    if (free_id)
        g_hash_table_insert(fids->table, key, fid);
    pthread_mutex_unlock(&fids->lock);
    if (!free_id)
        p9_fid_unref(fid);
    return free_id ? 0 : -EBADF;
}

int p9_fids_replace(struct p9_fids *fids, uint32_t id, struct p9_fid *old,
                    struct p9_fid *fid)
{
    gpointer key = GUINT_TO_POINTER(id);
    bool there;

    pthread_mutex_lock(&fids->lock);
    there = g_hash_table_lookup(fids->table, key) == old;
    if (there)
        g_hash_table_insert(fids->table, key, fid);
    pthread_mutex_unlock(&fids->lock);
    p9_fid_unref(there ? old : fid);
    return there ? 0 : -EBADF;
}

struct p9_fid *p9_fids_remove(struct p9_fids *fids, uint32_t id)
{
    gpointer key = GUINT_TO_POINTER(id), fid = NULL;

    pthread_mutex_lock(&fids->lock);
    g_hash_table_steal_extended(fids->table, key, NULL, &fid);
    pthread_mutex_unlock(&fids->lock);
    return fid;
}

void p9_fids_clear(struct p9_fids *fids)
{
    g_autoptr(GHashTable) table = NULL;
    GHashTableIter iter;
    gpointer fid;

    pthread_mutex_lock(&fids->lock);
    table = fids->table;
    fids->table = g_hash_table_new(NULL, NULL);
    pthread_mutex_unlock(&fids->lock);
    g_hash_table_iter_init(&iter, table);
    while (g_hash_table_iter_next(&iter, NULL, &fid))
        p9_fid_unref(fid);
}

/* ---- file sizes that a client knows -------------------------------------- */

void p9_fid_raise_known_size(struct p9_fid *fid, uint64_t size)
{
    uint64_t known = atomic_load_explicit(&fid->known_size,
                                          memory_order_relaxed);

    while (size > known &&
           !atomic_compare_exchange_weak(&fid->known_size, &known, size))
        ;
}

uint64_t p9_fids_known_size(struct p9_fids *fids, const struct ic_inode *inode)
{
    GHashTableIter iter;
    uint64_t known = 0;
    gpointer value;

    pthread_mutex_lock(&fids->lock);
    g_hash_table_iter_init(&iter, fids->table);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        struct p9_fid *fid = value;

        if (fid->inode == inode)
            known = MAX(known, atomic_load(&fid->known_size));
    }
    pthread_mutex_unlock(&fids->lock);
    return known;
}
