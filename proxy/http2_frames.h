/* SPDX-License-Identifier: Apache-2.0
 *
 * http2_frames - where the frames of one side of an HTTP/2 connection begin and
 * end (RFC 9113, 4.1), which blocks of fields do, and how many frames carry
 * nothing.
 *
 * The relay stops reading between two frames, so a frame bounds the memory that
 * the bytes of one call can take. nghttp2 itself checks what frames may say.
 */
#ifndef PROXY_HTTP2_FRAMES_H
#define PROXY_HTTP2_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP2_FRAME_HEAD = 9, HTTP2_MAGIC = 24 };

/* A flood: frames that carry nothing, when the burst is used up and they come
 * faster than the rate. A PING a second is no flood. */
enum { HTTP2_EMPTY_BURST = 1000, HTTP2_EMPTY_RATE = 100 /* a second */ };

/* Zero at first; left: HTTP2_MAGIC bytes on the side of a client. */
struct http2_frames {
    uint8_t head[HTTP2_FRAME_HEAD];
    size_t head_length;
    size_t left;      /* of the payload, or of the magic */
    unsigned heads;   /* blocks of fields that have begun */
    bool in_head;     /* the last one has not ended */
    bool ends_head;   /* this frame ends it */
    unsigned empty;   /* frames that carried nothing, less those forgiven */
    int64_t forgiven; /* until this time (us); 0: none yet */
    bool is_flooded;
};

/* Return whether the next byte begins a frame. */
bool http2_frames_is_between(const struct http2_frames *frames);

/* Return how many of the bytes belong to the current frame: at least one, at
 * most length (above 0). now: of the monotonic clock, in us. */
size_t http2_frames_next(struct http2_frames *frames, const uint8_t *data,
                         size_t length, int64_t now);

#endif
