/* SPDX-License-Identifier: Apache-2.0
 *
 * http1_response - relays the responses of a server.
 */
#ifndef PROXY_HTTP1_RESPONSE_H
#define PROXY_HTTP1_RESPONSE_H

#include "proxy/http1_exchange.h"

/* Read a part of the server's bytes. */
enum http_step http1_response_read(struct http1_relay *relay,
                                   struct http_input *input);

/* Return whether more bytes of the server can be read. Also between responses:
 * bytes are then refused. */
bool http1_response_wants(const struct http1_relay *relay);

/* The server sends no more. */
void http1_response_end(struct http1_relay *relay);

#endif
