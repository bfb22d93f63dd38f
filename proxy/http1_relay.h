/* SPDX-License-Identifier: Apache-2.0
 *
 * http1_relay - relays HTTP/1.0 and 1.1 (RFC 9112).
 *
 * A guest may send requests ahead (pipelining), and gets their responses in
 * order, but each goes to the server after the response to the one before. A
 * WebSocket (RFC 6455) is copied once the server has accepted it.
 */
#ifndef PROXY_HTTP1_RELAY_H
#define PROXY_HTTP1_RELAY_H

#include "proxy/http_relay.h"

/* context is borrowed for the life of the relay. */
struct http_relay *http1_relay_new(const struct http_context *context);

#endif
