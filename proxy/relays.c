/* SPDX-License-Identifier: Apache-2.0
 *
 * relays - see relays.h.
 */
#include "proxy/relays.h"

#include "proxy/http1_relay.h"

const struct relay_kinds relay_kinds = {
    .http1 = http1_relay_new,
};
