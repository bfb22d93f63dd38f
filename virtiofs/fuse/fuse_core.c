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
