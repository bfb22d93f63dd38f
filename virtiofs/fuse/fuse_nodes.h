/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_nodes - the inodes that the client knows, by node id.
 *
 * There is one node for each inode, with the number of lookups that the client
 * has yet to forget. The root is node 1 and is never forgotten. A folder that
 * the client has removed, but not forgotten, gets a second node if it is looked
 * up again after an undo (ic_inode_tag()).
 *
 * Threads: any thread may make any call, except fuse_nodes_free().
 */
#ifndef VIRTIOFS_FUSE_FUSE_NODES_H
#define VIRTIOFS_FUSE_FUSE_NODES_H

#include <stdatomic.h>
#include <stdint.h>

#include "interceptor/interceptor.h"

struct fuse_nodes;

struct fuse_node {
    struct ic_inode *inode; /* a hold; a reference after fuse_nodes_get() */
    uint64_t id;
    _Atomic uint64_t n_lookups; /* 0: being removed */
    _Atomic uint64_t version;   /* see fuse_entry_file_flags(); 0 at first */
    /* fuse_entry_version() of the attributes that the client may keep for long;
     * FUSE_KEPT_NAME: a name alone; 0: nothing */
    _Atomic uint64_t kept;
    /* fuse_sweep.c's hash of a name that leads elsewhere, as the client was
     * told; 0: none since the last lookup. */
    _Atomic uint64_t moved_from;
};

/* ic is borrowed for the lifetime of the nodes. */
struct fuse_nodes *fuse_nodes_new(struct ic *ic);

/* NULL is allowed. */
void fuse_nodes_free(struct fuse_nodes *nodes);

/* Count one lookup of the inode (taken, also on failure); kept: the node's new
 * value. Return 0 and its node id, or -ENFILE. */
int fuse_nodes_remember(struct fuse_nodes *nodes, struct ic_inode *inode,
                        uint64_t kept, uint64_t *ret_id);

/* The same for a hold (taken). */
int fuse_nodes_remember_held(struct fuse_nodes *nodes, struct ic_inode *inode,
                             uint64_t kept, uint64_t *ret_id);

#define FUSE_KEPT_NAME 1

/* The client has changed a file, and keeps none of its attributes. */
void fuse_nodes_keep_name(struct fuse_nodes *nodes,
                          const struct ic_inode *inode);

/* Subtract that many lookups. The client may name any id and any number. */
void fuse_nodes_forget(struct fuse_nodes *nodes, uint64_t id,
                       uint64_t n_lookups);

/* Call each with all nodes and their last names (fuse_server_each_known()). */
void fuse_nodes_each(struct fuse_nodes *nodes,
                     void (*each)(const struct ic_stale *known, void *opaque),
                     void *opaque);

/* Call each with at most n_slots slots' nodes from *inout_slot on (0: the
 * first), and set that to the next one. Return false after the last. The node
 * is borrowed; its inode is held. */
bool fuse_nodes_some(struct fuse_nodes *nodes, uint32_t *inout_slot,
                     uint32_t n_slots,
                     void (*each)(struct fuse_node *node, void *opaque),
                     void *opaque);

/* Forget everything but the root. */
void fuse_nodes_clear(struct fuse_nodes *nodes);

/* Return the node with this id and a reference to its inode: 0, or -ESTALE (no
 * such node, or its inode is lost), or another -errno such as -ENFILE. Release
 * the node with fuse_nodes_put(). */
int fuse_nodes_get(struct fuse_nodes *nodes, uint64_t id,
                   struct fuse_node **ret_node);
void fuse_nodes_put(struct fuse_nodes *nodes, struct fuse_node *node);

/* The same, but with only a hold on the inode: 0 or -ESTALE. */
int fuse_nodes_get_held(struct fuse_nodes *nodes, uint64_t id,
                        struct fuse_node **ret_node);
void fuse_nodes_put_held(struct fuse_nodes *nodes, struct fuse_node *node);

#endif
