/* SPDX-License-Identifier: Apache-2.0
 *
 * host_routes - see netbase/host_routes.h, which stepback-proxy uses, too.
 */
#ifndef NET_HOST_ROUTES_H
#define NET_HOST_ROUTES_H

#include "netbase/host_routes.h"

#endif
