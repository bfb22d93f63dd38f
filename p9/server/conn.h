/* SPDX-License-Identifier: Apache-2.0
 *
 * conn - a client's connection.
 *
 * Its thread reads messages and handles them, or passes them to the pool. It
 * stops reading while too many requests are active, or too many bytes of them
 * and of unread replies; then this client has to wait, and no other. Requests
 * that wait for the engine or for a lock do not count, so that a Tflush of one
 * gets through.
 *
 * Flushing: every request that is not completed at once is in a table by tag. A
 * Tflush of a request in the table is attached to it and answered right after
 * it, under the lock under which it leaves the table: so no reply follows the
 * Rflush. A request that waits, or has not been started, is dropped without a
 * reply.
 *
 * An error that breaks the framing (an impossible size, a tag that is in use)
 * ends the connection, as the following messages cannot be delimited.
 *
 * Threads: p9_conn_done() by any; the rest by the thread that serves.
 */
#ifndef P9_SERVER_CONN_H
#define P9_SERVER_CONN_H

#include "p9/server/service.h"

struct p9_conn;

/* Serve a client on fd (a stream socket, taken). Return NULL if no thread can
 * be started. */
struct p9_conn *p9_conn_start(struct p9_server *server, int fd,
                              uint32_t number);

/* Return whether the connection has ended. server->ended_fd signals when to
 * check. */
bool p9_conn_has_ended(const struct p9_conn *conn);

/* End the connection, and wait for its end. */
void p9_conn_free(struct p9_conn *conn);

#endif
