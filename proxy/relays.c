/* SPDX-License-Identifier: Apache-2.0
 *
 * relays - see relays.h.
 */
#include "proxy/relays.h"

const struct relay_kinds relay_kinds = {
    .http1 = NULL,
    .http2 = NULL,
};
