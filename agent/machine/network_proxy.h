/* SPDX-License-Identifier: Apache-2.0
 *
 * network_proxy - the process stepback-proxy beside stepback-net.
 *
 * stepback-net hands it the guest's connections to names; this side gives it
 * the names' addresses, and certificates for names whose requests are
 * intercepted, and reports what it refuses. It is started with the
 * first policy that has names, and started again if it ends; its connections
 * end with it, and the guest may open new ones.
 *
 * Threads: all on the main thread (see child.h).
 */
#ifndef AGENT_MACHINE_NETWORK_PROXY_H
#define AGENT_MACHINE_NETWORK_PROXY_H

#include <jansson.h>

#include "agent/client/control_link.h"
#include "agent/machine/guest_trust.h"
#include "agent/machine/network_asks.h"
#include "agent/machine/network_records.h"
#include "agent/machine/upstream_proxy.h"
#include "common/network_policy.h"

#define NETWORK_PROXY_PROGRAM "stepback-proxy"

enum { NETWORK_LAST_MS = 2000 }; /* for the last answer of a process */

struct network_proxy;

/* A warning for the frontend: the payload of event.warning; taken. */
typedef void (*network_proxy_warning)(json_t *payload, void *opaque);

/* channel: the end of stepback-net's channel (net/name_channel.h) for the
 * proxy; taken. trust, upstream, records, asks: borrowed. */
struct network_proxy *
network_proxy_new(int channel, struct guest_trust *trust,
                  const struct upstream_proxy *upstream, const char *log_level,
                  struct network_records *records, struct network_asks *asks,
                  network_proxy_warning warning, void *opaque);
void network_proxy_free(struct network_proxy *proxy);

/* Apply this policy (copied): before stepback-net does if it allows more, so
 * that no connection finds the proxy with the old one. The process is started
 * if the policy has names. Return FALSE and ERROR_VM_LAUNCH_FAILED if that
 * fails, or the errors of upstream_proxy_check(). */
gboolean network_proxy_configure(struct network_proxy *proxy,
                                 const struct network_policy *policy,
                                 GError **error);

/* Report refused and failed connections again that were reported under this
 * policy. */
void network_proxy_warn_again(struct network_proxy *proxy);

/* Return the policy in force. Borrowed. */
const struct network_policy *
network_proxy_policy(const struct network_proxy *proxy);

/* The answer's payload: {"connections","total","refused","bytes":{}}; the
 * request fails if there is no process. */
void network_proxy_get_status(struct network_proxy *proxy,
                              control_link_done done, void *opaque);

/* The answer's payload: that of network_records_to_json(); also: a list of
 * further open connections (borrowed). If the process does
 * not run or ends, there are no open connections. */
void network_proxy_get_connections(struct network_proxy *proxy, json_t *also,
                                   control_link_done done, void *opaque);

/* The network ends: record and close the open connections, within
 * NETWORK_LAST_MS. Done is called once, also from network_proxy_free(), and
 * must not free the proxy.
 */
void network_proxy_record_open(struct network_proxy *proxy,
                               void (*done)(void *opaque), void *opaque);

#endif
