/* SPDX-License-Identifier: Apache-2.0
 *
 * pool_holder - the process that holds a machine of the pool.
 *
 * It restores a machine from its template at low priority, pauses it once the
 * shim has said hello, and sends the connections to QEMU over its link
 * (pool_link.h). Then it only waits: for QEMU, whose parent it is, and for the
 * owner of the link. QEMU dies with the holder, because it is its child, and
 * the holder ends QEMU when the link is closed.
 *
 * Threads: on the main thread.
 */
#ifndef AGENT_VM_POOL_HOLDER_H
#define AGENT_VM_POOL_HOLDER_H

#include "agent/vm/vm_command.h"

#define POOL_HOLDER_VERB "hold-machine"

/* Hold such a machine for the owner of link (taken), until it ends. Runs the
 * default main loop. */
void pool_holder_run(int link, const struct vm_config *config);

/* Start a process that does this. It outlives this process, but not the peer of
 * link (borrowed). On failure return FALSE with ERROR_VM_LAUNCH_FAILED. */
gboolean pool_holder_spawn(int link, const struct vm_config *config,
                           GError **error);

/* The arguments of that process: as template_maker_parse(), and the link. */
bool pool_holder_parse(int argc, char **argv, struct guest_image *ret_image,
                       struct vm_config *ret_config, int *ret_link);

#endif
