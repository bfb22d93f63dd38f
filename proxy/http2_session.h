/* SPDX-License-Identifier: Apache-2.0
 *
 * http2_session - the two sessions of nghttp2 in an HTTP/2 relay: their options
 * and callbacks.
 */
#ifndef PROXY_HTTP2_SESSION_H
#define PROXY_HTTP2_SESSION_H

#include "proxy/http2_parts.h"

/* Make the session of one side (a server for the guest, a client for the
 * server) and queue its SETTINGS. */
void http2_session_open(struct http2_end *end);

/* A side broke the protocol, with a code of GOAWAY: both sessions end. The
 * first call sets relay->problem. */
void http2_session_fail(struct http2_end *end, uint32_t code);

/* The side gets no new streams: queue a GOAWAY for it. */
void http2_session_stop(struct http2_end *end, uint32_t code);

#endif
