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
#include "proxy/asks.h"
#include "proxy/connection.h"

/* As many as stepback-net forwards (SHARE_TCP in net/shares.h). Further ones
 * are refused. */
enum { CONNECTIONS_MAX = 1000 };

/* Those of them that are intercepted, and the most bytes that each can hold:
 * bodies and heads of both sides (http2_parts.h), and OpenSSL's. */
enum { INTERCEPTED_MAX = 250, INTERCEPTED_BYTES = 4 << 20 };

enum { UPSTREAMS_MAX = 2 };

struct connections;

struct connections_callbacks {
    /* Request the addresses of a name, for connections_resolved(), or those of
     * the upstream proxy for it, for connections_resolved_upstream(). Return
     * false if that is not possible now. */
    bool (*resolve)(const struct connection_target *target, void *opaque);
    /* Request a certificate for a name, for connections_certified(), in the
     * same manner. */
    bool (*certify)(const char *name, void *opaque);
    /* Request a decision for connections_decide(), in the same manner; and end
     * that request. */
    bool (*ask)(gint64 id, const char *name, unsigned port, void *opaque);
    void (*withdrawn)(gint64 id, void *opaque);
    /* An intercepted connection has had a request. */
    void (*exchanged)(const struct intercepted_request *request, void *opaque);
    /* A connection has ended. */
    void (*ended)(const struct connection_report *report, void *opaque);
};

struct connections_counts {
    guint64 open, total, refused;
    guint64 from_guest, to_guest; /* bytes */
};

/* Where connections come from and go to; borrowed. */
struct connections_world {
    struct poller *poller;
    struct host_routes *routes;
    SSL_CTX *to_servers; /* NULL: no connection can be intercepted */
};

/* callbacks are borrowed. Return NULL and error if there is no memory for
 * OpenSSL. */
struct connections *
connections_new(const struct connections_world *world,
                const struct connections_callbacks *callbacks, void *opaque,
                GError **error);
void connections_free(struct connections *connections);

/* Set the policy (copied): the addresses that a name may have besides public
 * ones, for connections that are not resolved yet, and the requests that may
 * pass. Connections that it does not allow end; held ones are judged again. */
void connections_configure(struct connections *connections,
                           const struct network_policy *policy);

/* Set an upstream proxy (i is below UPSTREAMS_MAX) for connections that are not
 * resolved yet. authorization: a field's value, or NULL. */
void connections_set_upstream(struct connections *connections, unsigned i,
                              unsigned port, const char *authorization);

/* Replace the secrets by a JSON list, which is not kept (secrets.h). */
gboolean connections_set_secrets(struct connections *connections, json_t *list,
                                 GError **error);

/* Begin a connection. fd (taken) is the guest's side. Ids must count up. */
void connections_add(struct connections *connections,
                     const struct connection_target *target, int fd);

/* The addresses of a connection's name; or problem, a text. An unknown id is
 * ignored: that connection has ended. */
void connections_resolved(struct connections *connections, gint64 id,
                          const struct network_address *addresses,
                          unsigned count, const char *problem);

/* The same, but a connection goes through upstream proxy i, whose addresses
 * these are. The host's user has chosen it: they are not judged. */
void connections_resolved_upstream(struct connections *connections, gint64 id,
                                   unsigned i,
                                   const struct network_address *addresses,
                                   unsigned count, const char *problem);

/* The certificate of a name, as for leaves_put(). */
void connections_certified(struct connections *connections, const char *name,
                           const char *chain, const char *key,
                           const char *problem);

/* Decide a question about a name and port (asks.h). Return false if it is over
 * already. */
bool connections_decide(struct connections *connections,
                        const struct asks_decision *decision);

/* Call add for each open connection, also held ones, in no order. */
void connections_list(const struct connections *connections,
                      void (*add)(const struct connection_report *report,
                                  void *opaque),
                      void *opaque);

/* Close all that are open, without a report of their ends. A request that has
 * no response yet is reported. */
void connections_drop(struct connections *connections);

struct connections_counts
connections_count(const struct connections *connections);

#endif
