/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_core - see fuse_core.h.
 */
#include "virtiofs/fuse/fuse_core.h"

#include <errno.h>

void fuse_core_reset(struct fuse_server *server)
{
    atomic_store(&server->initialized, false);
    atomic_store(&server->export_support, false);
    parked_fail(server->parked, -ECONNABORTED);
    /* Close the handles before the locks: a request that starts now on another
     * queue must not find a handle to lock. A request that already found one
     * belongs to the old session. */
    fuse_handles_clear(server->handles);
    fuse_nodes_clear(server->nodes);
    file_locks_clear(server->locks);
}

static bool is_guarded(struct fuse_server *server)
{
    return server->lease && fuse_lease_guards(server->lease);
}

int fuse_core_guard(struct fuse_server *server, uint32_t thread,
                    const struct fuse_node *node, const struct fuse_node *other)
{
    return is_guarded(server)
               ? fuse_lease_check(server->lease, thread, node->id, other->id)
               : 0;
}

int fuse_core_guard_attr(struct fuse_server *server, uint32_t thread,
                         const struct fuse_node *node)
{
    if (!is_guarded(server) || fuse_handles_has(server->handles, node->inode))
        return 0;
    return fuse_core_guard(server, thread, node, node);
}

int fuse_core_guard_link(struct fuse_server *server, uint32_t thread,
                         const struct fuse_node *dir,
                         const struct fuse_node *old)
{
    if (!is_guarded(server))
        return 0;
    return fuse_core_guard(server, thread, dir,
                           fuse_handles_has(server->handles, old->inode) ? dir
                                                                         : old);
}
