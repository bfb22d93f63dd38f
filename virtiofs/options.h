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

#include "common/log.h"
#include "common/sandbox.h"
#include "interceptor/interceptor.h"
#include "virtiofs/fuse_server.h"

enum { OPTIONS_MAX_FILES = 1000000 };

struct options {
    char *shared_dir;
    char *socket_path; /* one of these three is set: */
    int listen_fd;     /* -1: none */
    char *mount_dir;
    char *undo_dir;          /* NULL: no undo */
    struct ic_limits limits; /* 0: default */
    enum ic_durability durability;
    enum ic_outside_policy outside_policy;
    char *interceptor_socket; /* NULL: none */
    int interceptor_fd;       /* -1: none */
    enum log_level log_level;
    bool print_capabilities, print_version;
    struct fuse_server_config server;
    struct sandbox_options sandbox; /* borrows from this struct */
    char *modcaps, *uid_map, *gid_map;
    struct xattr_map *xattr_map;
    char *socket_group; /* NULL: the socket is for its owner */
    int file_limit;     /* of open files; 0: as it is */
    bool debug;
};

/* Parse the command line; --help prints and exits. A new struct; NULL and
 * error with a text for the person if it is wrong. */
struct options *options_parse(int argc, char **argv, GError **error);

/* NULL is allowed. */
void options_free(struct options *options);

#endif
