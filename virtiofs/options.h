/* SPDX-License-Identifier: Apache-2.0
 *
 * options - the command line of stepback-virtiofsd.
 *
 * Both grammars in use for virtio-fs daemons are read: --shared-dir=DIR (or
 * --shared-dir DIR) and -o source=DIR,cache=always.
 */
#ifndef VIRTIOFS_OPTIONS_H
#define VIRTIOFS_OPTIONS_H

#include <glib.h>
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

/* Parse the command line (NULL-terminated); --help prints and exits. A new
 * struct; NULL and error (not NULL) with a text for the person if it is
 * wrong. */
struct options *options_parse(char **argv, GError **error);

/* NULL is allowed. */
void options_free(struct options *options);

#endif
