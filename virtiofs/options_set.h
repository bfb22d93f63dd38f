/* SPDX-License-Identifier: Apache-2.0
 *
 * options_set - the parsed command line.
 */
#ifndef VIRTIOFS_OPTIONS_SET_H
#define VIRTIOFS_OPTIONS_SET_H

#include <stdbool.h>

#include "daemon/options.h"
#include "virtiofs/fuse/fuse_server.h"
#include "virtiofs/vhost/vhost_user.h"

struct options {
    struct daemon_options daemon; /* .socket_path, .listen_fd, or mount_dir */
    int mount_fd;  /* an open /dev/fuse that is mounted already; or -1 */
    int notify_fd; /* notify_peer.h; -1: none */
    char *mount_dir;
    struct fuse_server_config server;
    /* Set if the undo log shortened the requested caching: what applies
     * instead. */
    const char *cache_bounded;
    struct xattr_map *xattr_map;
    bool debug;
    struct vhost_user_config vhost_user;
};

#endif
