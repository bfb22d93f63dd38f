/* SPDX-License-Identifier: Apache-2.0
 *
 * connection_intercept - lets a connection be intercepted: the part of
 * connection.c that calls intercepted.h.
 */
#ifndef PROXY_CONNECTION_INTERCEPT_H
#define PROXY_CONNECTION_INTERCEPT_H

#include "proxy/connection_parts.h"

/* Begin; bytes: those that were read from the guest, and judged. */
void connection_intercept_start(struct connection *connection,
                                const char *bytes, size_t length);

/* Return whether the connection is intercepted now: its flows are unused. */
bool connection_intercept_is_on(const struct connection *connection);

/* Go on as far as possible. */
void connection_intercept_run(struct connection *connection);

/* End a connection that has no server. An intercepted one ends once the guest's
 * ClientHello was read, with an alert. */
void connection_intercept_fail(struct connection *connection,
                               const char *reason);

/* Go on, or end, if the guest is gone. */
void connection_intercept_check_gone(struct connection *connection);

/* Enforce the time limits of handshakes. */
void connection_intercept_tick(struct connection *connection, gint64 now);

#endif
