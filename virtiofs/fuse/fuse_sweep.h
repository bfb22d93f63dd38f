/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_sweep - find what has changed without a report.
 *
 * Nothing reports a write by mmap(2) of another process before the file is
 * closed, or a mount over a name (ic_inode_is_watched()). So what the client
 * may keep for long is looked at each FUSE_SWEEP_S, or less often if that took
 * much of a processor (more than 100,000 inodes): by its last name, and
 * compared with what the client was told (fuse_node.kept). That bounds how long
 * the client sees the old state, and costs no request.
 *
 * Some of what is found the client has changed itself. Linux then keeps no
 * attributes of its own, and looking again does no harm; but for the files that
 * it writes it would be much, so these requests change fuse_node.kept. The
 * attributes of replies that it processed in another order than the server are
 * found, too.
 *
 * Threads: one at a time, while others handle requests.
 */
#ifndef VIRTIOFS_FUSE_FUSE_SWEEP_H
#define VIRTIOFS_FUSE_FUSE_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "interceptor/interceptor.h"
#include "virtiofs/fuse/fuse_server.h"

/* Seconds from one sweep's start to the next. */
#define FUSE_SWEEP_S 60

struct fuse_sweep {
    uint32_t slot; /* the next one */
};

/* Look at the next part, a millisecond of work, and call each with what
 * has changed (borrowed): a name or an inode, as for ic_set_stale(). Return
 * false when the sweep, which begins with 0, is complete. */
bool fuse_sweep_some(struct fuse_server *server, struct fuse_sweep *sweep,
                     void (*each)(const struct ic_stale *changed, void *opaque),
                     void *opaque);

#endif
