/* SPDX-License-Identifier: Apache-2.0
 *
 * connection - one connection of a guest to a name.
 *
 * The guest's bytes are read and checked while the name is resolved and its
 * server is connected; none goes to the server before the check has passed it
 * (guest_check.h). Then bytes are copied both ways. Each direction ends by
 * itself; a reset ends both.
 */
#ifndef PROXY_CONNECTION_H
#define PROXY_CONNECTION_H

#include <glib.h>
#include <stdbool.h>

#include "common/network_address.h"
#include "proxy/guest_check.h"
#include "proxy/poller.h"

struct connection;

struct connection_target {
    gint64 id;
    char name[HOST_NAME_ROOM];
    unsigned port;
    enum guest_check_kind kind;
};

/* A connection that has ended, or is open: then refused is false and reason
 * NULL. The texts are borrowed. */
struct connection_report {
    const struct connection_target *target;
    const char *address; /* NULL: no server was connected */
    bool refused;
    const char *reason; /* NULL: an end has closed it */
    const char *allow;  /* the policy's entry that would allow it, or NULL */
    guint64 from_guest, to_guest;
    gint64 milliseconds;
};

/* Called once, not from within connection_new(); it must free the
 * connection. */
typedef void connection_ended(struct connection *connection,
                              const struct connection_report *report,
                              void *opaque);

/* fd (taken) is the guest's side, a stream. */
struct connection *connection_new(struct poller *poller,
                                  const struct connection_target *target,
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

/* Connect to one of the addresses. Calls after the first are ignored. */
void connection_dial(struct connection *connection,
                     const struct network_address *addresses, unsigned count);

/* The name has no address that may be used. allow: the policy refuses them, and
 * this entry would allow one; or NULL. */
void connection_give_up(struct connection *connection, const char *allow,
                        const char *reason);

/* Set ret_list to the addresses (borrowed) that the connection uses or still
 * tries. Return their number. */
unsigned connection_addresses(const struct connection *connection,
                              const struct network_address **ret_list);

/* The policy no longer allows one of these addresses. */
void connection_revoke(struct connection *connection);

/* Enforce the time limits. Call it a few times a second. Return whether that is
 * needed at present. */
void connection_tick(struct connection *connection, gint64 now);
bool connection_needs_ticks(const struct connection *connection);

#endif
