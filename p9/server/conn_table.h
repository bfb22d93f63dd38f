/* SPDX-License-Identifier: Apache-2.0
 *
 * conn_table - the requests of a connection, and their end.
 */
#ifndef P9_SERVER_CONN_TABLE_H
#define P9_SERVER_CONN_TABLE_H

#include "p9/server/conn_parts.h"
#include "p9/server/request.h"

enum {
    P9_CONN_MAX_ACTIVE = 128,      /* requests in work or in the pool */
    P9_CONN_SLACK_BYTES = 1 << 20, /* and two of the largest messages */
};

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

void p9_conn_wake(void *conn);

/* A request was handled, with this result; releases is what
 * parked_releases() was before. Takes the request. */
void p9_conn_done(struct p9_request *request, int r, uint64_t releases);

#endif
