/* SPDX-License-Identifier: Apache-2.0
 *
 * relays - see relays.h.
 */
#include "proxy/relays.h"

#include "proxy/http1_relay.h"
#include "proxy/http2_relay.h"

const struct relay_kinds relay_kinds = {
    .http1 = http1_relay_new,
    .http2 = http2_relay_new,
};
