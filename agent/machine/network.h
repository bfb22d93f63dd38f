/* SPDX-License-Identifier: Apache-2.0
 *
 * network - a machine's network: the process stepback-net.
 *
 * The process connects QEMU to the host's network and forwards what the policy
 * allows (network_policy.h). A guest without a network card has none.
 *
 * Threads: all on the main thread (see child.h).
 */
#ifndef AGENT_MACHINE_NETWORK_H
#define AGENT_MACHINE_NETWORK_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "agent/client/control_link.h"
#include "agent/machine/guest_trust.h"
#include "agent/machine/network_asks.h"
#include "agent/machine/published_ports.h"
#include "agent/machine/upstream_proxy.h"
#include "common/network_policy.h"

#define NETWORK_PROGRAM "stepback-net"

struct network;

struct network_callbacks {
    /* A warning for the frontend: the payload of event.warning; taken. */
    void (*warning)(json_t *payload, void *opaque);
    /* A connection has ended, or a request: an event for the frontend, and its
     * payload (borrowed). */
    void (*record)(const char *type, json_t *payload, void *opaque);
    /* So many connections or requests more than the processes report one by
     * one. */
    void (*missed)(guint64 count, void *opaque);
    /* A connection is held until network_decide(), which may be called from
     * within; or nothing waits for that any more. Not called from
     * network_free(). */
    void (*asked)(const struct network_question *question, void *opaque);
    void (*ask_withdrawn)(gint64 id, void *opaque);
    /* The process has ended, with the reason. Delayed until an end of QEMU
     * would have been noticed, as that also ends the process. After
     * network_stop() it is called at once with error NULL. Called once; the
     * callback must not free the network. */
    void (*ended)(const GError *error, void *opaque);
};

/* Start program (its path; NULL: not installed). policy is copied; trust and
 * upstream are borrowed. tap: the guest's tap device (borrowed), or -1: then
 * ret_fd is the socket for QEMU's stream of frames, and the caller owns it. On
 * failure return NULL with ERROR_VM_LAUNCH_FAILED. */
struct network *network_new(const char *program,
                            const struct network_policy *policy,
                            struct guest_trust *trust,
                            const struct upstream_proxy *upstream,
                            const char *log_level, int tap,
                            const struct network_callbacks *callbacks,
                            void *opaque, int *ret_fd, GError **error);

/* Free the network; a running process is killed and waiting requests fail. NULL
 * is allowed. */
void network_free(struct network *network);

bool network_runs(const struct network *network);

/* Record the connections that are open, and end the process; "ended" follows if
 * it still runs. */
void network_stop(struct network *network);

/* Replace the policy (borrowed); the answer's payload is empty. */
void network_configure(struct network *network,
                       const struct network_policy *policy,
                       control_link_done done, void *opaque);

/* Report refused connections again that were reported under this policy. Done
 * is called when that holds, or with an error, and from network_free(). */
void network_warn_again(struct network *network, control_link_done done,
                        void *opaque);

/* Answer a question of "asked"; ignored if it was withdrawn. */
void network_decide(struct network *network, gint64 id,
                    const struct network_answer *answer);

/* Return the address of the name server for the guest. Static. */
const char *network_guest_dns(const struct network *network);

/* The answer's payload: "network_policy", "frames" and "bytes" (net/control.h),
 * "connections" (network_records_count()), and with names "names" and
 * "upstream" (network_proxy.h). */
void network_get_status(struct network *network, control_link_done done,
                        void *opaque);

/* The answer's payload: that of network_records_to_json(). */
void network_get_connections(struct network *network, control_link_done done,
                             void *opaque);

/* Forward from this port, which stays the caller's. Done is called later; it
 * fails if the process cannot, or has ended. */
void network_publish(struct network *network, const struct published_port *port,
                     control_link_done done, void *opaque);

/* Close a port and its connections. */
void network_unpublish(struct network *network, gint64 id,
                       control_link_done done, void *opaque);

#endif
