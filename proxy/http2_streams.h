/* SPDX-License-Identifier: Apache-2.0
 *
 * http2_streams - the streams of an HTTP/2 relay: forwards their heads, bodies
 * and ends from one side to the other.
 *
 * Each function may be called within a callback of nghttp2. A stream lives
 * until http2_streams_settle() after both sides have closed it.
 */
#ifndef PROXY_HTTP2_STREAMS_H
#define PROXY_HTTP2_STREAMS_H

#include "proxy/http2_parts.h"

/* The guest begins a request. Return NULL if there are too many; the stream is
 * then reset. */
struct http2_stream *http2_streams_begin(struct http2_relay *relay, int32_t id);

/* The side's list (end->incoming) is whole: a head or trailers. */
void http2_streams_take_request(struct http2_stream *stream, bool is_last);
void http2_streams_take_response(struct http2_stream *stream, bool is_last);
void http2_streams_take_trailers(struct http2_stream *stream,
                                 enum http_side from);

/* Bytes of a body; they count against the side's windows until they are sent to
 * the other side, or dropped. */
void http2_streams_take_data(struct http2_end *from,
                             struct http2_stream *stream, int32_t id,
                             const uint8_t *data, size_t length);

/* The side's message is whole. */
void http2_streams_take_end(struct http2_stream *stream, enum http_side from);

/* A message was sent to the side as a whole. */
void http2_streams_sent_end(struct http2_stream *stream, enum http_side to);

/* Reset the stream of one side, or of both. */
void http2_streams_reset(struct http2_stream *stream, enum http_side side,
                         uint32_t code);
void http2_streams_reset_both(struct http2_stream *stream, uint32_t code);

/* The side's stream is closed, with a code of RST_STREAM or 0. */
void http2_streams_close(struct http2_stream *stream, enum http_side side,
                         uint32_t code);

/* Tell the owner of requests that got no response, and free closed streams. */
void http2_streams_settle(struct http2_relay *relay);

/* Free all streams, after the sessions. */
void http2_streams_free(struct http2_relay *relay);

#endif
