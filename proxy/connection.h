/* SPDX-License-Identifier: Apache-2.0
 *
 * connection - one connection of a guest to a name.
 *
 * The guest's bytes are read and checked while the name is resolved and its
 * server is connected; none goes to the server before the check has passed it
 * (guest_check.h). Then bytes are copied both ways. Each direction ends by
 * itself; a reset ends both. If the requests are to be judged, intercepted.h
 * has both ends as soon as the first bytes show the protocol.
 */
#ifndef PROXY_CONNECTION_H
#define PROXY_CONNECTION_H

#include <glib.h>
#include <stdbool.h>

#include "common/network_address.h"
#include "proxy/connection_report.h"
#include "proxy/intercepted.h"
#include "proxy/poller.h"
#include "proxy/upstream.h"

/* fd (taken) is the guest's side, a stream. interception is borrowed. */
struct connection *connection_new(struct poller *poller,
                                  const struct connection_target *target,
                                  const struct interception *interception,
                                  int fd, connection_ended *ended,
                                  void *opaque);
void connection_free(struct connection *connection);

const struct connection_target *
connection_target(const struct connection *connection);

/* Describe an open connection until it changes. */
void connection_describe(const struct connection *connection,
                         struct connection_report *ret_report);

/* Bytes until now. */
guint64 connection_from_guest(const struct connection *connection);
guint64 connection_to_guest(const struct connection *connection);

/* Connect to one of the addresses. Calls after the first are ignored. upstream:
 * they are this server's, which is asked for a connection to the name; NULL:
 * they are the name's. */
void connection_dial(struct connection *connection,
                     const struct network_address *addresses, unsigned count,
                     const struct upstream_server *upstream);

/* The name has no address that may be used. allow: the policy refuses them, and
 * this entry would allow one; or NULL. */
void connection_give_up(struct connection *connection, const char *allow,
                        const char *reason);

/* Set ret_list to the addresses (borrowed) of the name that the connection uses
 * or still tries. Return their number: 0 for that of an upstream. */
unsigned connection_addresses(const struct connection *connection,
                              const struct network_address **ret_list);

/* Return whether the policy, which has changed, still allows the requests that
 * run; true if it is not intercepted. */
bool connection_is_allowed(const struct connection *connection);

/* End it, as the policy no longer allows it. */
void connection_revoke(struct connection *connection, const char *reason);

/* The certificate of the connection's name may be there. */
void connection_go_on(struct connection *connection);

/* Enforce the time limits. Call it a few times a second. Return whether that is
 * needed at present. */
void connection_tick(struct connection *connection, gint64 now);
bool connection_needs_ticks(const struct connection *connection);

#endif
