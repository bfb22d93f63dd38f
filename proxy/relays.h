/* SPDX-License-Identifier: Apache-2.0
 *
 * relays - the versions of HTTP that stepback-proxy relays.
 */
#ifndef PROXY_RELAYS_H
#define PROXY_RELAYS_H

#include "proxy/http_relay.h"

typedef struct http_relay *relay_new(const struct http_context *context);

/* NULL: that version is refused. */
struct relay_kinds {
    relay_new *http1, *http2;
};

extern const struct relay_kinds relay_kinds;

#endif
