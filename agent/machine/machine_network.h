/* SPDX-License-Identifier: Apache-2.0
 *
 * machine_network - the network of a machine: its start, and its events.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_MACHINE_MACHINE_NETWORK_H
#define AGENT_MACHINE_MACHINE_NETWORK_H

#include "agent/machine/machine_core.h"

/* Start the network, unless the policy has none. ret_fd: for the guest (the
 * caller owns it), or -1. Errors: those of network_new(). */
gboolean machine_network_start(struct machine *machine, int *ret_fd,
                               GError **error);

#endif
