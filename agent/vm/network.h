/* SPDX-License-Identifier: Apache-2.0
 *
 * network - a machine's network: the process stepback-net.
 *
 * It stands between QEMU and the world and lets through what the policy allows
 * (network_policy.h). A guest without a network card has none.
 *
 * Threads: all on the main thread (see child.h).
 */
#ifndef AGENT_VM_NETWORK_H
#define AGENT_VM_NETWORK_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "agent/client/control_link.h"
#include "common/network_policy.h"

#define NETWORK_PROGRAM "stepback-net"

struct network;

struct network_callbacks {
    /* A warning for the frontend: the payload of event.warning; taken. */
    void (*warning)(json_t *payload, void *opaque);
    /* The process is gone, with the reason; not until QEMU's end had its time
     * to be the cause. After network_stop() at once, and error is NULL. Called
     * once; the network must not be freed in it. */
    void (*ended)(const GError *error, void *opaque);
};

/* Start program (its path; NULL: it is not installed). policy is copied.
 * ret_fd: the socket for QEMU's stream of frames, which becomes the caller's.
 * NULL and error: ERROR_VM_LAUNCH_FAILED. */
struct network *network_new(const char *program,
                            const struct network_policy *policy,
                            const char *log_level,
                            const struct network_callbacks *callbacks,
                            void *opaque, int *ret_fd, GError **error);

/* If it still runs, it is killed; requests that wait fail. NULL is allowed. */
void network_free(struct network *network);

bool network_runs(const struct network *network);

/* End it; "ended" follows if it still runs. */
void network_stop(struct network *network);

/* Another policy (borrowed) from now on; the answer's payload is empty. */
void network_configure(struct network *network,
                       const struct network_policy *policy,
                       control_link_done done, void *opaque);

#endif
