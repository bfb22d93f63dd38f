/* SPDX-License-Identifier: Apache-2.0
 *
 * http2_relay - relays HTTP/2 (RFC 9113) of one intercepted connection.
 *
 * It is a server for the guest and a client for the server, with a session of
 * nghttp2 for each, so neither side's framing, header compression, flow control
 * or priorities reach the other. Each stream must be a request for the name;
 * one that is refused is answered on its stream, and the others go on. Server
 * push, CONNECT and PRIORITY are not relayed.
 *
 * Memory: what waits for each side has at most 1 MiB of bodies and 512 KiB of
 * heads and trailers; bodies take up to four times as much.
 */
#ifndef PROXY_HTTP2_RELAY_H
#define PROXY_HTTP2_RELAY_H

#include "proxy/http_relay.h"

/* context is borrowed. */
struct http_relay *http2_relay_new(const struct http_context *context);

#endif
