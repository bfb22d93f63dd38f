/* SPDX-License-Identifier: Apache-2.0
 *
 * options_set - what the command line sets.
 */
#ifndef VIRTIOFS_OPTIONS_SET_H
#define VIRTIOFS_OPTIONS_SET_H

#include <stdbool.h>

#include "daemon/options.h"
#include "virtiofs/fuse/fuse_server.h"
#include "virtiofs/vhost/vhost_user.h"

struct options {
    struct daemon_options daemon; /* .socket_path, .listen_fd or: */
    char *mount_dir;
    struct fuse_server_config server;
    /* It was to last longer than an undo log allows: what is so instead. */
    const char *cache_bounded;
    struct xattr_map *xattr_map;
    bool debug;
    struct vhost_user_config vhost_user;
};

#endif
