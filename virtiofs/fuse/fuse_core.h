/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_core - what a FUSE server knows of its client.
 */
#ifndef VIRTIOFS_FUSE_FUSE_CORE_H
#define VIRTIOFS_FUSE_FUSE_CORE_H

#include <stdatomic.h>

#include "daemon/file_locks.h"
#include "daemon/parked.h"
#include "virtiofs/fuse/fuse_config.h"
#include "virtiofs/fuse/fuse_handles.h"
#include "virtiofs/fuse/fuse_nodes.h"

struct fuse_server {
    struct ic *ic;
    struct fuse_server_config config;
    struct fuse_nodes *nodes;
    struct fuse_handles *handles;
    struct parked *parked;
    struct file_locks *locks;
    /* The host's name of a client's file capabilities; "": the host's kernel
     * knows them as such. */
    struct xattr_map_name capability;
    atomic_bool initialized;
    atomic_bool export_support; /* the client may look up "." and ".." */
    atomic_bool told_version;   /* that the client is too old */

    /* What was agreed with the client. */
    atomic_bool dont_mask;    /* its umask is ours to apply */
    atomic_bool setxattr_ext; /* SETXATTR has all of its struct */
    atomic_bool security_ctx; /* creating brings labels along */
    atomic_bool kills_priv;   /* suid bits are ours to clear */
};
/* The client went away (its device was reset): forget all that it held. It
 * has to send INIT again. Requests may be in work. */
void fuse_core_reset(struct fuse_server *server);

#endif
