/* SPDX-License-Identifier: Apache-2.0
 *
 * conn_parts - what the files of conn share, and nobody else uses.
 *
 * conn.c reads; conn_table.c knows what is in work, and ends it.
 *
 * Lock order: conn->lock, then parked's.
 */
#ifndef P9_SERVER_CONN_PARTS_H
#define P9_SERVER_CONN_PARTS_H

#include "p9/server/lock_owners.h"
#include "p9/server/request.h"
#include "p9/wire/outbox.h"

enum {
    CONN_STAGING = 65536, /* larger messages have memory of their own */
    CONN_TAG_BUCKETS = 256,
};

struct p9_conn {
    struct p9_server *server;
    uint32_t number;
    int fd, wake_fd;
    GThread *thread;
    struct p9_fids *fids;
    struct p9_lock_owners owners;
    struct parked_queue *parked;
    atomic_bool stops, ended;

    /* Its thread's own. */
    uint32_t msize; /* 0: no session yet */
    uint8_t *staging;
    size_t start, end;          /* what of it is not handled */
    struct p9_request *partial; /* a large message that is coming in */
    size_t have;                /* bytes of it */
    struct p9_request own;      /* the request that it does itself */
    bool sent_all;              /* the client closed its side */

    pthread_mutex_t lock; /* what follows, and requests' marked members */
    pthread_cond_t idle;  /* n_active is 0 */
    struct p9_request *tags[CONN_TAG_BUCKETS];
    unsigned n_tags, n_active, n_waiting;
    size_t charged;
    bool discards;   /* what ends now is not answered */
    bool wants_wake; /* the thread may sleep */
    struct p9_outbox outbox;
};

#endif
