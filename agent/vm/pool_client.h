/* SPDX-License-Identifier: Apache-2.0
 *
 * pool_client - requests to the pool of this user (pool_wire.h).
 *
 * Each waits for the answer for at most POOL_CLIENT_MS.
 */
#ifndef AGENT_VM_POOL_CLIENT_H
#define AGENT_VM_POOL_CLIENT_H

#include <glib.h>
#include <jansson.h>

#include "agent/vm/vm.h"

enum { POOL_CLIENT_MS = 2000 };

/* Return the path of the pool's socket as a new string, or NULL if there is no
 * folder for it that only this user can change. */
char *pool_client_path(void);

/* Take a machine with this key. Return false without an error if no pool runs,
 * or none of its machines is like that. network: whether the machine has a
 * card. */
bool pool_client_take(const char *key, bool network, struct vm_parts *ret_parts,
                      GError **error);

/* Report that a machine which was taken has failed: the pool is then not used
 * for a while, so that not each start loses time. */
void pool_client_report(const char *reason);

/* Return what the pool has (pool_service.c): a new object; NULL without an
 * error if no pool runs. */
json_t *pool_client_status(GError **error);

/* End the pool, and wait for it. Return false without an error if none runs. */
bool pool_client_end(GError **error);

#endif
