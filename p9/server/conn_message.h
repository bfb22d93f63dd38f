/* SPDX-License-Identifier: Apache-2.0
 *
 * conn_message - handle one message of a connection: versions and flushes here,
 * a request here or in the pool.
 *
 * Threads: the one that serves the connection.
 */
#ifndef P9_SERVER_CONN_MESSAGE_H
#define P9_SERVER_CONN_MESSAGE_H

#include "p9/server/conn_parts.h"

/* Handle a whole message, decoded with result r; the request (embedded in the
 * connection, or on the heap) is taken. Return false if the connection must
 * end. */
bool p9_conn_handle(struct p9_conn *conn, struct p9_request *request, int r);

/* Decode and handle the message at bytes, in the staging buffer. */
bool p9_conn_handle_staged(struct p9_conn *conn, uint8_t *bytes, size_t size);

#endif
