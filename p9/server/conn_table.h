/* SPDX-License-Identifier: Apache-2.0
 *
 * conn_table - the requests of a connection, and their completion.
 */
#ifndef P9_SERVER_CONN_TABLE_H
#define P9_SERVER_CONN_TABLE_H

#include "p9/server/conn_parts.h"
#include "p9/server/request.h"

enum {
    P9_CONN_MAX_ACTIVE = 128,      /* requests running or in the pool */
    P9_CONN_SLACK_BYTES = 1 << 20, /* plus two of the largest messages */
};

/* The lock is held. */
struct p9_request *p9_conn_find_tag(struct p9_conn *conn, uint16_t tag);
bool p9_conn_admits(struct p9_conn *conn);

/* Return a request with its own memory for size bytes, the first `have` of
 * which are copied from bytes. NULL if there is no memory. */
struct p9_request *p9_conn_request_new(struct p9_conn *conn, size_t size,
                                       const uint8_t *bytes, size_t have);

/* Free a request that was not started; no-op for the one embedded in the
 * connection. */
void p9_conn_forget(struct p9_request *request);

/* Give a request (taken, on the heap) to the pool; it is in the table from now
 * on. */
void p9_conn_pool(struct p9_conn *conn, struct p9_request *request);

/* Run by the pool's threads. */
void p9_conn_run_pooled(struct p9_request *request);

/* Complete a request with this result. */
void p9_conn_finish(struct p9_request *request, int r);

/* Reply at once with an error or a message. */
void p9_conn_refuse(struct p9_conn *conn, uint16_t tag, int r);
void p9_conn_reply(struct p9_conn *conn, const struct p9_message *message);

/* Handle a Tflush. */
void p9_conn_flush_tag(struct p9_conn *conn, uint16_t tag, uint16_t oldtag);

/* Return the next parked request that is ready; *ret_error: the error to
 * reply. */
struct p9_request *p9_conn_take_ready(struct p9_conn *conn, int *ret_error);

/* Wait for the running requests, and send what the socket accepts. Return the
 * number of unsent bytes. */
size_t p9_conn_settle(struct p9_conn *conn);

/* Wait for the running requests, and drop the parked ones; none gets a
 * reply. */
void p9_conn_abort_all(struct p9_conn *conn);

void p9_conn_wake(void *conn);

/* Complete or park a request that was handled with this result; releases is the
 * value of parked_releases() before that. Takes the request. */
void p9_conn_done(struct p9_request *request, int r, uint64_t releases);

#endif
