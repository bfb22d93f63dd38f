/* SPDX-License-Identifier: Apache-2.0
 *
 * host_routes - whether an address is the host's own.
 *
 * A packet to an address of the host stays in the host, where few firewalls
 * look at it: services that the outside cannot reach would be open to a guest.
 * The kernel is asked, by its routing table (rtnetlink(7)), because addresses
 * come and go.
 *
 * Threads: for one.
 */
#ifndef NET_HOST_ROUTES_H
#define NET_HOST_ROUTES_H

#include <glib.h>

#include "common/network_policy.h"

struct host_routes;

/* NULL and error (ERROR_IO_ERROR). */
struct host_routes *host_routes_new(GError **error);
void host_routes_free(struct host_routes *routes);

/* What is not known is the host's. An answer is good for some seconds. routes
 * is a struct host_routes. */
bool host_routes_is_host(const struct network_address *address, void *routes);

#endif
