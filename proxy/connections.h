/* SPDX-License-Identifier: Apache-2.0
 *
 * connections - all connections of a guest to names, and their limits.
 */
#ifndef PROXY_CONNECTIONS_H
#define PROXY_CONNECTIONS_H

#include <glib.h>
#include <stdbool.h>

#include "common/network_policy.h"
#include "netbase/host_routes.h"
#include "proxy/connection.h"

/* As many as stepback-net forwards (SHARE_TCP in net/shares.h). Further ones
 * are refused. */
enum { CONNECTIONS_MAX = 1000 };

struct connections;

struct connections_callbacks {
    /* Request the addresses of a name, for connections_resolved(). Return false
     * if that is not possible now. */
    bool (*resolve)(gint64 id, const char *name, void *opaque);
    /* A connection has ended. */
    void (*ended)(const struct connection_report *report, void *opaque);
};

struct connections_counts {
    guint64 open, total, refused;
    guint64 from_guest, to_guest; /* bytes */
};

/* callbacks and routes are borrowed. */
struct connections *
connections_new(struct poller *poller, struct host_routes *routes,
                const struct connections_callbacks *callbacks, void *opaque);
void connections_free(struct connections *connections);

/* Set the policy whose addresses a name may have besides public ones; for
 * connections that are not resolved yet. Copied. */
void connections_configure(struct connections *connections,
                           const struct network_policy *policy);

/* Begin a connection. fd (taken) is the guest's side. Ids must count up. */
void connections_add(struct connections *connections,
                     const struct connection_target *target, int fd);

/* The addresses of a connection's name; or problem, a text. An unknown id is
 * ignored: that connection has ended. */
void connections_resolved(struct connections *connections, gint64 id,
                          const struct network_address *addresses,
                          unsigned count, const char *problem);

/* Call add for each open connection, in no order. */
void connections_list(const struct connections *connections,
                      void (*add)(const struct connection_report *report,
                                  void *opaque),
                      void *opaque);

struct connections_counts
connections_count(const struct connections *connections);

#endif
