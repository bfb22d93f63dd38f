/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_core - the state of a FUSE server for its client.
 */
#ifndef VIRTIOFS_FUSE_FUSE_CORE_H
#define VIRTIOFS_FUSE_FUSE_CORE_H

#include <stdatomic.h>

#include "daemon/file_locks.h"
#include "daemon/parked.h"
#include "virtiofs/fuse/fuse_config.h"
#include "virtiofs/fuse/fuse_handles.h"
#include "virtiofs/fuse/fuse_lease.h"
#include "virtiofs/fuse/fuse_nodes.h"

struct fuse_server {
    struct ic *ic;
    struct fuse_server_config config;
    struct fuse_nodes *nodes;
    struct fuse_handles *handles;
    struct parked *parked;
    struct file_locks *locks;
    struct fuse_lease *lease; /* or NULL */
    /* The host's name of the client's file-capability attribute; "" if the
     * host's kernel treats that attribute as capabilities itself. */
    struct xattr_map_name capability;
    /* The client can be notified, and the cache policy leaves the times to the
     * server. Set while no request runs. */
    bool notifies;
    atomic_bool initialized;
    atomic_bool export_support;   /* the client may look up "." and ".." */
    atomic_bool version_reported; /* an old client was reported */

    /* Negotiated with the client in INIT. */
    atomic_bool dont_mask;    /* the server applies the client's umask */
    atomic_bool setxattr_ext; /* SETXATTR uses the long struct */
    atomic_bool security_ctx; /* creations carry security labels */
    atomic_bool kills_priv;   /* the server clears suid bits */
};
/* Forget all client state after the client went away (its device was reset);
 * the client must send INIT again. Requests may be running. */
void fuse_core_reset(struct fuse_server *server);

/* A request of this thread of the client changes something through a node
 * (other: and through a second one; or the same), which only an outdated name
 * may lead to. Return 0, or -ESTALE: the client must look the path up first
 * (fuse_lease.h, S2). */
int fuse_core_guard(struct fuse_server *server, uint32_t thread,
                    const struct fuse_node *node,
                    const struct fuse_node *other);

/* The same for a new link in dir to old, which may be an open file without a
 * name. */
int fuse_core_guard_link(struct fuse_server *server, uint32_t thread,
                         const struct fuse_node *dir,
                         const struct fuse_node *old);

/* The same for a request that may have been made by an fd, without a name. */
int fuse_core_guard_attr(struct fuse_server *server, uint32_t thread,
                         const struct fuse_node *node);

#endif
