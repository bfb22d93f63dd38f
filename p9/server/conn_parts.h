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

#include "p9/server/conn.h"
#include "p9/wire/outbox.h"

enum {
    CONN_STAGING = 65536, /* larger messages have memory of their own */
    CONN_TAG_BUCKETS = 256,
    CONN_MAX_CLIENTS = 16, /* names of lock owners */
};

struct p9_conn {
    struct p9_server *server;
    uint32_t number;
    int fd, wake_fd;
    GThread *thread;
    struct p9_fids *fids;
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
    GPtrArray *clients; /* char * */
};

/* ---- conn_table.c -------------------------------------------------------- */

/* With the lock held. */
struct p9_request *p9_conn_find_tag(struct p9_conn *conn, uint16_t tag);
bool p9_conn_admits(struct p9_conn *conn);

/* A request with memory for size bytes of its own, of which so many are there.
 * NULL: there is no memory. */
struct p9_request *p9_conn_request_new(struct p9_conn *conn, size_t size,
                                       const uint8_t *bytes, size_t have);

/* A request that was not begun; nothing, for the connection's own. */
void p9_conn_forget(struct p9_request *request);

/* Give a request (taken, on the heap) to the pool; in the table from now on. */
void p9_conn_pool(struct p9_conn *conn, struct p9_request *request);

/* The pool's threads run this. */
void p9_conn_run_pooled(struct p9_request *request);

/* End a request with this result. */
void p9_conn_finish(struct p9_request *request, int r);

/* Answer at once, with an error or a message. */
void p9_conn_refuse(struct p9_conn *conn, uint16_t tag, int r);
void p9_conn_reply(struct p9_conn *conn, const struct p9_message *message);

/* A Tflush. */
void p9_conn_flush_tag(struct p9_conn *conn, uint16_t tag, uint16_t oldtag);

/* The next request that waited and is ready; *ret_error: what to answer. */
struct p9_request *p9_conn_take_ready(struct p9_conn *conn, int *ret_error);

/* Wait for what is in work, and send what can be. How much is left. */
size_t p9_conn_settle(struct p9_conn *conn);

/* Wait for what is in work, forget what waits; nothing of it is answered. */
void p9_conn_abort_all(struct p9_conn *conn);

/* No fid has locks any more. */
void p9_conn_forget_owners(struct p9_conn *conn);

void p9_conn_wake(void *conn);

#endif
