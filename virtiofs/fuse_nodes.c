/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_nodes - see fuse_nodes.h.
 *
 * The slot table finds a node by its id without a lock; by_inode finds it by
 * its inode. Equal inodes are equal pointers while the node holds its
 * reference, which it does as long as it is in by_inode.
 *
 * lock: by_inode and every n_lookups. A node leaves by_inode in the same
 * critical section in which its last lookup goes, so a racing lookup of the
 * same inode makes a new node and never revives a dying one. The slot is
 * removed after the lock, since the end of a node may close an fd.
 */
#include "virtiofs/fuse_nodes.h"

#include <linux/fuse.h>
#include <pthread.h>

#include "daemon/fd_reserve.h"
#include "virtiofs/slot_table.h"

struct fuse_nodes {
    struct slot_table *slots;
    pthread_mutex_t lock;
    GHashTable *by_inode;
};

static void destroy_node(void *object)
{
    struct fuse_node *node = object;

    ic_inode_unref(node->inode);
    g_free(node);
}

struct fuse_nodes *fuse_nodes_new(struct ic_inode *root)
{
    struct fuse_nodes *nodes = g_new0(struct fuse_nodes, 1);
    uint64_t id;

    nodes->slots = slot_table_new(destroy_node);
    nodes->by_inode = g_hash_table_new(NULL, NULL);
    pthread_mutex_init(&nodes->lock, NULL);
    fuse_nodes_remember(nodes, ic_inode_ref(root), &id);
    return nodes;
}

void fuse_nodes_free(struct fuse_nodes *nodes)
{
    if (!nodes)
        return;
    slot_table_free(nodes->slots);
    g_hash_table_unref(nodes->by_inode);
    pthread_mutex_destroy(&nodes->lock);
    g_free(nodes);
}

static int add_node(struct fuse_nodes *nodes, struct ic_inode *inode,
                    uint64_t *ret_id)
{
    struct fuse_node *node;
    int r = fd_reserve_check(ic_inode_fd(inode));

    if (r < 0)
        return r;
    node = g_new0(struct fuse_node, 1);
    /* Complete before its id can be found. */
    node->inode = inode;
    node->n_lookups = 1;
    r = slot_table_insert(nodes->slots, node, &node->id);
    if (r < 0) {
        g_free(node);
        return r;
    }
    *ret_id = node->id;
    g_hash_table_insert(nodes->by_inode, inode, node);
    return 0;
}

int fuse_nodes_remember(struct fuse_nodes *nodes, struct ic_inode *inode,
                        uint64_t *ret_id)
{
    struct fuse_node *node;
    bool taken = false;
    int r = 0;

    pthread_mutex_lock(&nodes->lock);
    node = g_hash_table_lookup(nodes->by_inode, inode);
    if (node) {
        node->n_lookups++;
        *ret_id = node->id;
    } else {
        r = add_node(nodes, inode, ret_id);
        taken = r == 0;
    }
    pthread_mutex_unlock(&nodes->lock);
    if (!taken)
        ic_inode_unref(inode);
    return r;
}

void fuse_nodes_forget(struct fuse_nodes *nodes, uint64_t id,
                       uint64_t n_lookups)
{
    struct fuse_node *node;
    bool gone = false;

    if (id == FUSE_ROOT_ID)
        return;
    node = fuse_nodes_get(nodes, id);
    if (!node)
        return;
    pthread_mutex_lock(&nodes->lock);
    if (node->n_lookups > 0) {
        node->n_lookups -= MIN(n_lookups, node->n_lookups);
        gone = node->n_lookups == 0;
    }
    if (gone)
        g_hash_table_remove(nodes->by_inode, node->inode);
    pthread_mutex_unlock(&nodes->lock);
    if (gone)
        slot_table_remove(nodes->slots, id);
    fuse_nodes_put(nodes, node);
}

void fuse_nodes_clear(struct fuse_nodes *nodes)
{
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    struct fuse_node *node;
    GHashTableIter iter;

    pthread_mutex_lock(&nodes->lock);
    g_hash_table_iter_init(&iter, nodes->by_inode);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&node)) {
        if (node->id == FUSE_ROOT_ID)
            continue;
        node->n_lookups = 0;
        g_array_append_val(ids, node->id);
        g_hash_table_iter_remove(&iter);
    }
    pthread_mutex_unlock(&nodes->lock);
    for (guint i = 0; i < ids->len; i++)
        slot_table_remove(nodes->slots, g_array_index(ids, uint64_t, i));
}

struct fuse_node *fuse_nodes_get(struct fuse_nodes *nodes, uint64_t id)
{
    return slot_table_get(nodes->slots, id);
}

void fuse_nodes_put(struct fuse_nodes *nodes, struct fuse_node *node)
{
    slot_table_put(nodes->slots, node->id);
}
