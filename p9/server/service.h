/* SPDX-License-Identifier: Apache-2.0
 *
 * service - a share served over 9P, common to all connections.
 */
#ifndef P9_SERVER_SERVICE_H
#define P9_SERVER_SERVICE_H

#include <stdatomic.h>

#include "daemon/file_locks.h"
#include "daemon/id_map.h"
#include "daemon/parked.h"
#include "p9/profile/profile.h"
#include "p9/wire/buffers.h"
#include "p9/wire/wire.h"

struct p9_pool;

struct p9_server_config {
    uint32_t msize_max;       /* P9_MIN_MSIZE to P9_MAX_MSIZE */
    unsigned max_connections; /* 1 or more */
    unsigned threads;         /* of the pool; 1 or more */
    bool read_only;
    bool no_mknod;      /* Tmknod creates only regular files */
    struct id_maps ids; /* of clients; borrowed */
    const struct p9_profile *profile;
    const char *overlay_dir; /* for p9_server_new(); NULL: none */
    const char *overlay_log; /* for p9_server_new(), as in profile.h */
};

struct p9_server {
    struct ic *ic;
    struct p9_server_config config;
    void *profile; /* state of config.profile */
    struct parked *parked;
    struct file_locks *locks;
    struct p9_buffers *buffers;
    struct p9_pool *pool;
    atomic_uint n_fids;
    _Atomic uint64_t serials; /* of requests */
    int ended_fd;             /* an eventfd: a connection has ended */
    GPtrArray *conns;         /* used only by the serving thread */
    uint32_t next_number;

    /* When to warn again that a connection was refused. */
    int64_t next_warning_us;
};

#endif
