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
    /* Before the locks: what another queue begins now is to find no handle that
     * it could lock. What has found one already is of another session. */
    fuse_handles_clear(server->handles);
    fuse_nodes_clear(server->nodes);
    file_locks_clear(server->locks);
}
