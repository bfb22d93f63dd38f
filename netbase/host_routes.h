/* SPDX-License-Identifier: Apache-2.0
 *
 * host_routes - tells whether an address belongs to the host.
 *
 * A packet to an address of the host stays in the host, where few firewalls
 * filter it: a guest could reach services that are closed to the outside. The
 * kernel's routing table (rtnetlink(7)) is queried, because addresses change.
 *
 * Threads: one.
 */
#ifndef NETBASE_HOST_ROUTES_H
#define NETBASE_HOST_ROUTES_H

#include <glib.h>

#include "common/network_policy.h"

struct host_routes;

/* Return NULL and error (ERROR_IO_ERROR) on failure. */
struct host_routes *host_routes_new(GError **error);
void host_routes_free(struct host_routes *routes);

/* Return whether the address belongs to the host; true if unknown. Results are
 * cached for a few seconds. routes is a struct host_routes. */
bool host_routes_is_host(const struct network_address *address, void *routes);

#endif
