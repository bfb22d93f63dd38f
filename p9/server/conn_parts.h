/* SPDX-License-Identifier: Apache-2.0
 *
 * conn_parts - private to the files of conn.
 *
 * conn.c reads; conn_table.c tracks active requests, and ends them.
 *
 * Lock order: conn->lock, then parked's.
 */
#ifndef P9_SERVER_CONN_PARTS_H
#define P9_SERVER_CONN_PARTS_H

#include "p9/server/lock_owners.h"
#include "p9/server/request.h"
#include "p9/wire/outbox.h"

enum {
    CONN_STAGING = 65536, /* larger messages have their own memory */
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

    /* Used only by the connection's thread. */
    uint32_t msize; /* 0: no session yet */
    uint8_t *staging;
    size_t start, end;          /* its unhandled part */
    struct p9_request *partial; /* a large message, partly received */
    size_t have;                /* bytes received of it */
    struct p9_request own;      /* the request that this thread handles
                                 * itself */
    bool sent_all;              /* the client closed its sending side */

    pthread_mutex_t lock; /* guards the following and the marked members of
                           * requests */
    pthread_cond_t idle;  /* n_active is 0 */
    struct p9_request *tags[CONN_TAG_BUCKETS];
    unsigned n_tags, n_active, n_waiting;
    size_t charged;
    bool discards;   /* requests that end now get no reply */
    bool wants_wake; /* the thread may be asleep */
    struct p9_outbox outbox;
};

#endif
