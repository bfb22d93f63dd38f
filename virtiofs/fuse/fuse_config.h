/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_config - how a shared folder is served to a FUSE client.
 */
#ifndef VIRTIOFS_FUSE_FUSE_CONFIG_H
#define VIRTIOFS_FUSE_FUSE_CONFIG_H

#include <stdbool.h>

#include "daemon/id_map.h"
#include "virtiofs/fuse/xattr_map.h"

/* How long the client may use cached data without revalidation. */
enum fuse_cache {
    FUSE_CACHE_NEVER,    /* cache nothing */
    FUSE_CACHE_METADATA, /* names and attributes for a day, no data */
    FUSE_CACHE_AUTO,     /* metadata for 1 s; data until the file changes */
    FUSE_CACHE_ALWAYS,   /* names, attributes and data for a day */
    FUSE_CACHE_LEASE,    /* metadata for a moment, see fuse_lease.h; no data */
};

/* Parse "never" (or "none"), "metadata", "auto", "always" or "lease". Return
 * false for any other string. */
bool fuse_cache_parse(const char *name, enum fuse_cache *ret_cache);

/* The duration of a lease without -o timeout. Linux's clock of timeouts has
 * ticks of 1 to 10 ms. */
#define FUSE_LEASE_SECONDS 0.05

/* Seconds that a client keeps names and attributes if it is notified of changes
 * (ic_inode_is_watched()). fuse_sweep.h finds those that nothing reports. */
#define FUSE_LEASE_LONG_S 3600

/* The same for the absence of a name. No node knows it, so it cannot be looked
 * at again if changes were missed. */
#define FUSE_LEASE_MISSING_S 60

struct fuse_server_config {
    enum fuse_cache cache;
    bool read_only;
    const struct xattr_map *xattr_map; /* borrowed; NULL: no renaming */
    bool timeout_given;                /* else by cache policy */
    double timeout; /* seconds that names and attributes stay valid */
    bool no_names;  /* names expire at once: each use looks them up */
    bool no_readdirplus, no_killpriv, announce_submounts;
    bool writeback;      /* write-back cache; excludes an undo log */
    bool posix_acl;      /* client enforces ACLs; the server applies umasks */
    bool security_label; /* client labels new files */
    struct id_maps ids;  /* borrowed */
    bool posix_locks;    /* the client's fcntl() locks are host locks */
    bool flocks;         /* the client's flock() locks are host locks */
    bool hold_signals;   /* parked changes are not interrupted */
};

#endif
