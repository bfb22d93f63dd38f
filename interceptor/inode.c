/* SPDX-License-Identifier: Apache-2.0
 *
 * inode - see inode.h.
 */
#include "interceptor/inode.h"

#include <string.h>
#include <unistd.h>

#include "common/fd.h"

struct inode_table {
    pthread_mutex_t lock;
    GHashTable *inodes; /* a set of borrowed ic_inode, by (dev, ino) */
    unsigned (*log_links)(dev_t dev, ino_t ino, void *opaque);
    void *opaque;
};

static guint inode_hash(gconstpointer key)
{
    const struct ic_inode *inode = key;
    uint64_t mixed = (uint64_t)inode->ino ^ ((uint64_t)inode->dev << 32);

    return g_int64_hash(&mixed);
}

static gboolean inode_equal(gconstpointer a, gconstpointer b)
{
    const struct ic_inode *x = a, *y = b;

    return x->ino == y->ino && x->dev == y->dev;
}

struct inode_table *inode_table_new(unsigned (*log_links)(dev_t dev, ino_t ino,
                                                          void *opaque),
                                    void *opaque)
{
    struct inode_table *table = g_new0(struct inode_table, 1);

    pthread_mutex_init(&table->lock, NULL);
    table->inodes = g_hash_table_new(inode_hash, inode_equal);
    table->log_links = log_links;
    table->opaque = opaque;
    return table;
}

void inode_table_free(struct inode_table *table)
{
    if (!table)
        return;
    g_hash_table_unref(table->inodes);
    pthread_mutex_destroy(&table->lock);
    g_free(table);
}

/* With the table's lock held: no inode in the table is without references. */
static struct ic_inode *find_locked(struct inode_table *table, dev_t dev,
                                    ino_t ino)
{
    struct ic_inode key = { .dev = dev, .ino = ino };
    struct ic_inode *inode = g_hash_table_lookup(table->inodes, &key);

    return inode ? ic_inode_ref(inode) : NULL;
}

static struct ic_inode *inode_new(struct inode_table *table, int fd,
                                  const struct stat *st)
{
    struct ic_inode *inode = g_new0(struct ic_inode, 1);

    inode->table = table;
    inode->dev = st->st_dev;
    inode->ino = st->st_ino;
    inode->type = st->st_mode & S_IFMT;
    inode->fd = fd;
    inode->refs = 1;
    if (table->log_links)
        inode->log_links = table->log_links(inode->dev, inode->ino,
                                            table->opaque);
    pthread_mutex_init(&inode->lock, NULL);
    return inode;
}

struct ic_inode *inode_table_take(struct inode_table *table, int fd,
                                  const struct stat *st,
                                  struct ic_inode *parent, const char *name)
{
    struct ic_inode *inode;

    pthread_mutex_lock(&table->lock);
    inode = find_locked(table, st->st_dev, st->st_ino);
    if (!inode) {
        inode = inode_new(table, fd_steal(&fd), st);
        g_hash_table_add(table->inodes, inode);
    }
    pthread_mutex_unlock(&table->lock);
    fd_close(&fd);
    if (parent)
        inode_set_place(inode, parent, name);
    return inode;
}

struct ic_inode *inode_table_find(struct inode_table *table, dev_t dev,
                                  ino_t ino)
{
    struct ic_inode *inode;

    pthread_mutex_lock(&table->lock);
    inode = find_locked(table, dev, ino);
    pthread_mutex_unlock(&table->lock);
    return inode;
}

struct ic_inode *ic_inode_ref(struct ic_inode *inode)
{
    atomic_fetch_add_explicit(&inode->refs, 1, memory_order_relaxed);
    return inode;
}

/* Drop one reference. True if it was the last: the inode is out of the table
 * and the caller's. The lock is taken only when the count may reach 0. */
static bool drop(struct ic_inode *inode)
{
    unsigned refs = atomic_load_explicit(&inode->refs, memory_order_relaxed);
    struct inode_table *table = inode->table;
    bool last;

    while (refs > 1) {
        if (atomic_compare_exchange_weak(&inode->refs, &refs, refs - 1))
            return false;
    }
    pthread_mutex_lock(&table->lock);
    last = atomic_fetch_sub(&inode->refs, 1) == 1;
    if (last)
        g_hash_table_remove(table->inodes, inode);
    pthread_mutex_unlock(&table->lock);
    return last;
}

void ic_inode_unref(struct ic_inode *inode)
{
    /* A deep path is a long chain of parents: no recursion. */
    while (inode && drop(inode)) {
        struct ic_inode *parent = inode->parent;

        fd_close(&inode->fd);
        pthread_mutex_destroy(&inode->lock);
        g_free(inode->name);
        g_free(inode);
        inode = parent;
    }
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

void inode_set_place(struct ic_inode *inode, struct ic_inode *parent,
                     const char *name)
{
    struct ic_inode *old = NULL;

    if (inode == parent)
        return;
    pthread_mutex_lock(&inode->lock);
    if (inode->parent != parent || strcmp(inode->name, name) != 0) {
        old = inode->parent;
        g_free(inode->name);
        inode->parent = ic_inode_ref(parent);
        inode->name = g_strdup(name);
    }
    pthread_mutex_unlock(&inode->lock);
    ic_inode_unref(old);
}

bool inode_get_place(struct ic_inode *inode, struct ic_inode **ret_parent,
                     char **ret_name)
{
    bool known = false;

    pthread_mutex_lock(&inode->lock);
    if (inode->parent) {
        *ret_parent = ic_inode_ref(inode->parent);
        *ret_name = g_strdup(inode->name);
        known = true;
    }
    pthread_mutex_unlock(&inode->lock);
    return known;
}
