/* SPDX-License-Identifier: Apache-2.0
 *
 * inode_place - see inode.h: where inodes were last seen.
 */
#include "interceptor/inode.h"

#include <errno.h>
#include <string.h>

static uint64_t place_print(const struct ic_inode *parent, const char *name)
{
    uint64_t hash = (uintptr_t)parent;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3ull;
    return hash ? hash : 1;
}

/* A place is a hint: another one with the same print does no harm. */
bool inode_is_at(const struct ic_inode *inode, const struct ic_inode *parent,
                 const char *name)
{
    return atomic_load_explicit(&inode->place_print, memory_order_relaxed) ==
           place_print(parent, name);
}

void inode_set_place(struct ic_inode *inode, struct ic_inode *parent,
                     const char *name)
{
    uint64_t print = place_print(parent, name);
    struct ic_inode *old = NULL;
    bool moved;

    /* Most lookups find what is known. */
    if (inode == parent || atomic_load_explicit(&inode->place_print,
                                                memory_order_relaxed) == print)
        return;
    pthread_mutex_lock(&inode->lock);
    moved = inode->parent != parent || strcmp(inode->name, name) != 0;
    if (moved) {
        old = inode->parent;
        g_free(inode->name);
        inode->parent = ic_inode_hold(parent);
        inode->name = g_strdup(name);
        atomic_store_explicit(&inode->place_print, print, memory_order_relaxed);
    }
    pthread_mutex_unlock(&inode->lock);
    ic_inode_unhold(old);
    /* It can be opened again now. */
    if (moved && inode_table_is_crowded(inode->table))
        inode_ring_add(inode);
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
