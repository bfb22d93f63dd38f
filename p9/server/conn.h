/* SPDX-License-Identifier: Apache-2.0
 *
 * conn - a client's connection.
 *
 * Its thread reads messages and does them, or gives them to the pool. It takes
 * no more while too many requests are in work, or too many bytes of them and
 * of replies that the client does not read; then the client has to wait, and
 * nobody else. What waits for the engine's word or for a lock does not count
 * there, so that a Tflush of it gets through.
 *
 * Flushing. Every request that is not done at once is in a table by tag. A
 * Tflush of one that is there hangs on to it and is answered right after it,
 * under the lock under which it leaves the table: so no answer follows the
 * Rflush. A request that waits, or has not been begun, is dropped without one.
 *
 * What breaks the framing (a size that no message can have, a tag that is in
 * use) ends the connection, as nothing after it can be told apart.
 *
 * Threads: p9_conn_done() by any; the rest by the one that serves.
 */
#ifndef P9_SERVER_CONN_H
#define P9_SERVER_CONN_H

#include "p9/server/service.h"

struct p9_conn;

/* Serve a client at the other end of fd (a stream socket, taken). NULL: there
 * is no thread to be had. */
struct p9_conn *p9_conn_start(struct p9_server *server, int fd,
                              uint32_t number);

/* Has it ended? server->ended_fd tells when to look. */
bool p9_conn_has_ended(const struct p9_conn *conn);

/* End it, and wait for that. */
void p9_conn_free(struct p9_conn *conn);

#endif
