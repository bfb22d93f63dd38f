/* SPDX-License-Identifier: Apache-2.0
 *
 * http1_request - relays the requests of a guest.
 */
#ifndef PROXY_HTTP1_REQUEST_H
#define PROXY_HTTP1_REQUEST_H

#include "proxy/http1_exchange.h"

/* Read a part of the guest's bytes. */
enum http_step http1_request_read(struct http1_relay *relay,
                                  struct http_input *input);

/* Return whether more bytes of the guest can be read. */
bool http1_request_wants(const struct http1_relay *relay);

/* Return whether a part of a head was read, and the rest is to come. */
bool http1_request_is_awaited(const struct http1_relay *relay);

#endif
