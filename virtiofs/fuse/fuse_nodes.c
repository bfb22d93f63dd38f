/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_nodes - see fuse_nodes.h.
 *
 * The slot table finds a node by its id without a lock, and the inode's tag is
 * the id of its node. A lookup of a known inode increments n_lookups, but never
 * from 0: such a node is being removed. In that case, or if there is no node, a
 * new one is created; the tag decides which of two concurrent creations stays.
 */
#include "virtiofs/fuse/fuse_nodes.h"

#include <errno.h>
#include <linux/fuse.h>
#include <stdatomic.h>

#include "daemon/fd_reserve.h"
#include "virtiofs/fuse/slot_table.h"

struct fuse_nodes {
    struct ic *ic;
    struct slot_table *slots;
};

static void destroy_node(void *object)
{
    struct fuse_node *node = object;

    ic_inode_change_tag(node->inode, node->id, 0);
    ic_inode_unhold(node->inode);
    g_free(node);
}

struct fuse_nodes *fuse_nodes_new(struct ic *ic)
{
    struct fuse_nodes *nodes = g_new0(struct fuse_nodes, 1);
    uint64_t id;

    nodes->ic = ic;
    nodes->slots = slot_table_new(destroy_node);
    fuse_nodes_remember(nodes, ic_inode_ref(ic_root(ic)), 0, &id);
    return nodes;
}

void fuse_nodes_free(struct fuse_nodes *nodes)
{
    if (!nodes)
        return;
    slot_table_free(nodes->slots);
    g_free(nodes);
}

static bool count_lookup(struct fuse_nodes *nodes, uint64_t id, uint64_t kept)
{
    struct fuse_node *node = slot_table_get(nodes->slots, id);
    uint64_t n;

    if (!node)
        return false;
    n = atomic_load_explicit(&node->n_lookups, memory_order_relaxed);
    while (n > 0 && !atomic_compare_exchange_weak(&node->n_lookups, &n, n + 1))
        ;
    atomic_store_explicit(&node->kept, kept, memory_order_relaxed);
    atomic_store_explicit(&node->moved_from, 0, memory_order_relaxed);
    slot_table_put(nodes->slots, id);
    return n > 0;
}

/* Return whether the client may keep the inode open. An inode that is closed
 * costs no fd. */
static int check_fd(struct fuse_nodes *nodes, struct ic_inode *inode)
{
    int r;

    if (!ic_inode_ref_open(inode))
        return 0;
    r = fd_reserve_check(nodes->ic, ic_inode_fd(inode));
    ic_inode_unref(inode);
    return r;
}

/* Return 0 and the node's id, -EAGAIN if the inode's tag has changed, or
 * -errno. */
static int add_node(struct fuse_nodes *nodes, struct ic_inode *inode,
                    uint64_t kept, uint64_t tag, uint64_t *ret_id)
{
    struct fuse_node *node;
    int r = check_fd(nodes, inode);

    if (r < 0)
        return r;
    node = g_new(struct fuse_node, 1);
    /* Initialize the node completely before its id can be found. */
    *node = (struct fuse_node){ .inode = ic_inode_hold(inode),
                                .n_lookups = 1,
                                .kept = kept };
    r = slot_table_insert(nodes->slots, node, &node->id, ret_id);
    if (r < 0) {
        ic_inode_unhold(inode);
        g_free(node);
        return r;
    }
    /* A client that guesses ids may have forgotten the node already. */
    if (ic_inode_change_tag(inode, tag, *ret_id))
        return 0;
    slot_table_remove(nodes->slots, *ret_id);
    return -EAGAIN;
}

static int remember(struct fuse_nodes *nodes, struct ic_inode *inode,
                    uint64_t kept, uint64_t *ret_id)
{
    uint64_t tag;
    int r;

    do {
        tag = ic_inode_tag(inode);
        if (tag != 0 && count_lookup(nodes, tag, kept)) {
            *ret_id = tag;
            r = 0;
        } else {
            r = add_node(nodes, inode, kept, tag, ret_id);
        }
    } while (r == -EAGAIN);
    return r;
}

int fuse_nodes_remember(struct fuse_nodes *nodes, struct ic_inode *inode,
                        uint64_t kept, uint64_t *ret_id)
{
    int r = remember(nodes, inode, kept, ret_id);

    ic_inode_unref(inode);
    return r;
}

int fuse_nodes_remember_held(struct fuse_nodes *nodes, struct ic_inode *inode,
                             uint64_t kept, uint64_t *ret_id)
{
    int r = remember(nodes, inode, kept, ret_id);

    ic_inode_unhold(inode);
    return r;
}

void fuse_nodes_forget(struct fuse_nodes *nodes, uint64_t id,
                       uint64_t n_lookups)
{
    struct fuse_node *node;
    uint64_t n, left;

    if (id == FUSE_ROOT_ID)
        return;
    node = slot_table_get(nodes->slots, id);
    if (!node)
        return;
    n = atomic_load(&node->n_lookups);
    do
        left = n - MIN(n, n_lookups);
    while (!atomic_compare_exchange_weak(&node->n_lookups, &n, left));
    if (left == 0)
        slot_table_remove(nodes->slots, id);
    slot_table_put(nodes->slots, id);
}

void fuse_nodes_keep_name(struct fuse_nodes *nodes,
                          const struct ic_inode *inode)
{
    uint64_t id = ic_inode_tag(inode);
    struct fuse_node *node = id ? slot_table_get(nodes->slots, id) : NULL;

    if (!node)
        return;
    if (atomic_load_explicit(&node->kept, memory_order_relaxed) != 0)
        atomic_store_explicit(&node->kept, FUSE_KEPT_NAME,
                              memory_order_relaxed);
    slot_table_put(nodes->slots, id);
}

struct visit {
    void (*each)(const struct ic_stale *known, void *opaque);
    void *opaque;
};

static void visit_node(void *object, void *opaque)
{
    const struct fuse_node *node = object;
    const struct visit *visit = opaque;
    struct ic_stale known = { .inode = node->id };
    g_autofree char *name = ic_inode_last_name(node->inode, &known.dir);

    if (known.dir != 0)
        known.name = name;
    visit->each(&known, visit->opaque);
}

void fuse_nodes_each(struct fuse_nodes *nodes,
                     void (*each)(const struct ic_stale *known, void *opaque),
                     void *opaque)
{
    struct visit visit = { each, opaque };

    slot_table_each(nodes->slots, visit_node, &visit);
}

struct some {
    void (*each)(struct fuse_node *node, void *opaque);
    void *opaque;
};

static void visit_some(void *object, void *opaque)
{
    const struct some *some = opaque;

    some->each(object, some->opaque);
}

bool fuse_nodes_some(struct fuse_nodes *nodes, uint32_t *inout_slot,
                     uint32_t n_slots,
                     void (*each)(struct fuse_node *node, void *opaque),
                     void *opaque)
{
    struct some some = { each, opaque };

    return slot_table_some(nodes->slots, inout_slot, n_slots, visit_some,
                           &some);
}

void fuse_nodes_clear(struct fuse_nodes *nodes)
{
    slot_table_clear(nodes->slots, FUSE_ROOT_ID + 1);
}

int fuse_nodes_get_held(struct fuse_nodes *nodes, uint64_t id,
                        struct fuse_node **ret_node)
{
    struct fuse_node *node = slot_table_get(nodes->slots, id);

    if (!node)
        return -ESTALE;
    *ret_node = node;
    return 0;
}

void fuse_nodes_put_held(struct fuse_nodes *nodes, struct fuse_node *node)
{
    slot_table_put(nodes->slots, node->id);
}

int fuse_nodes_get(struct fuse_nodes *nodes, uint64_t id,
                   struct fuse_node **ret_node)
{
    struct fuse_node *node;
    int r = fuse_nodes_get_held(nodes, id, &node);

    if (r < 0)
        return r;
    r = ic_inode_use(nodes->ic, node->inode);
    if (r < 0) {
        fuse_nodes_put_held(nodes, node);
        return r == -EMFILE ? -ENFILE : r;
    }
    *ret_node = node;
    return 0;
}

void fuse_nodes_put(struct fuse_nodes *nodes, struct fuse_node *node)
{
    ic_inode_unref(node->inode);
    fuse_nodes_put_held(nodes, node);
}
