/* SPDX-License-Identifier: Apache-2.0
 *
 * pool_service - the socket of the pool's keeper (pool_wire.h).
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_VM_POOL_SERVICE_H
#define AGENT_VM_POOL_SERVICE_H

#include "agent/vm/pool_keeper.h"

/* Keep a pool and serve its socket until a client or a signal ends it, or the
 * socket is gone. ready is called once, when the socket is there. Runs the
 * default main loop. On failure return FALSE with ERROR_VM_LAUNCH_FAILED. */
gboolean pool_service_run(const struct pool_plan *plan,
                          void (*ready)(void *opaque), void *opaque,
                          GError **error);

#endif
