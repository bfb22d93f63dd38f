/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_config - how a shared folder is served to a FUSE client.
 */
#ifndef VIRTIOFS_FUSE_FUSE_CONFIG_H
#define VIRTIOFS_FUSE_FUSE_CONFIG_H

#include <stdbool.h>

#include "daemon/id_map.h"
#include "virtiofs/fuse/xattr_map.h"

/* How long the client may trust what it knows. */
enum fuse_cache {
    FUSE_CACHE_NEVER,    /* not at all: nothing is cached */
    FUSE_CACHE_METADATA, /* names and attributes for a day, no data */
    FUSE_CACHE_AUTO,     /* for a second; data until the file changes */
    FUSE_CACHE_ALWAYS,   /* for a day, data too */
};

/* Parse "never" (or "none"), "metadata", "auto" or "always". */
bool fuse_cache_parse(const char *name, enum fuse_cache *ret_cache);

struct fuse_server_config {
    enum fuse_cache cache;
    bool read_only;
    const struct xattr_map *xattr_map; /* borrowed; NULL: names stay */
    bool timeout_given;                /* else the cache policy says it */
    double timeout; /* seconds for which names and attributes are valid */
    bool no_names;  /* but names are not valid: each use looks them up */
    bool no_readdirplus, no_killpriv, announce_submounts;
    bool writeback; /* the client's cache may write later; not with a log */
    bool posix_acl; /* the client enforces ACLs, and umasks are ours */
    bool security_label; /* it labels what it makes */
    struct id_maps ids;  /* borrowed */
    bool posix_locks;    /* the client's fcntl() locks are locks of the host */
    bool flocks;         /* its flock() locks, too */
};

#endif
