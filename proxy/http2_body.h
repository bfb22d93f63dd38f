/* SPDX-License-Identifier: Apache-2.0
 *
 * http2_body - bytes of a body between two sessions of HTTP/2.
 *
 * The flow control of the session that receives them bounds their number.
 * Memory: at most four times that, and none for an empty body.
 */
#ifndef PROXY_HTTP2_BODY_H
#define PROXY_HTTP2_BODY_H

#include <stddef.h>
#include <stdint.h>

/* Zero at first. */
struct http2_body {
    uint8_t *data;
    size_t start, length, room;
};

void http2_body_append(struct http2_body *body, const void *data,
                       size_t length);

/* Move up to length of the first bytes to buf, and return their number. */
size_t http2_body_take(struct http2_body *body, void *buf, size_t length);

/* Drop all bytes, and return their number. */
size_t http2_body_clear(struct http2_body *body);

#endif
