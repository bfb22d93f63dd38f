/* SPDX-License-Identifier: Apache-2.0
 *
 * network_certificates - answers the proxy's requests for certificates.
 *
 * A guest may connect to any number of names below a wildcard, and each costs
 * the supervisor a new key and a signature. So at most CERTIFICATES_BURST are
 * issued at once, and as many in each further second; requests beyond wait.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_MACHINE_NETWORK_CERTIFICATES_H
#define AGENT_MACHINE_NETWORK_CERTIFICATES_H

#include <jansson.h>

#include "agent/machine/guest_trust.h"
#include "common/network_policy.h"

/* As many wait as the proxy keeps (LEAVES_MAX in proxy/leaves.h). */
enum { CERTIFICATES_BURST = 20, CERTIFICATES_WAIT_MAX = 256 };

struct network_certificates;

/* trust: borrowed. answer: sends the request "certificate" with this payload
 * (taken). */
struct network_certificates *
network_certificates_new(struct guest_trust *trust,
                         void (*answer)(json_t *payload, void *opaque),
                         void *opaque);
void network_certificates_free(struct network_certificates *certificates);

/* Answer the payload (borrowed) of event.certificate, now or later: once for a
 * name that is requested again while it waits. Only names whose requests the
 * policy intercepts have a certificate. */
void network_certificates_request(struct network_certificates *certificates,
                                  const struct network_policy *policy,
                                  json_t *payload);

/* Forget the names that wait. */
void network_certificates_clear(struct network_certificates *certificates);

#endif
