/* SPDX-License-Identifier: Apache-2.0
 *
 * http2_frames - see http2_frames.h.
 */
#include "proxy/http2_frames.h"

#include <glib.h>
#include <nghttp2/nghttp2.h>
#include <string.h>

bool http2_frames_is_between(const struct http2_frames *frames)
{
    return frames->left == 0 && frames->head_length == 0;
}

/* HEADERS, CONTINUATION, RST_STREAM and PUSH_PROMISE have limits in nghttp2;
 * WINDOW_UPDATE lets the other side send. */
static bool carries_nothing(const uint8_t *head, size_t length)
{
    switch (head[3]) {
    case NGHTTP2_DATA:
        return length == 0 && !(head[4] & NGHTTP2_FLAG_END_STREAM);
    case NGHTTP2_HEADERS:
    case NGHTTP2_CONTINUATION:
    case NGHTTP2_RST_STREAM:
    case NGHTTP2_PUSH_PROMISE:
    case NGHTTP2_WINDOW_UPDATE:
        return false;
    default:
        return true;
    }
}

/* A block of fields is in a HEADERS frame and in those that continue it, and
 * nghttp2 takes no other frames between them. */
static void note_head(struct http2_frames *frames)
{
    const uint8_t *head = frames->head;

    frames->ends_head = false;
    if (head[3] == NGHTTP2_HEADERS)
        frames->heads++;
    else if (head[3] != NGHTTP2_CONTINUATION)
        return;
    frames->in_head = true;
    frames->ends_head = head[4] & NGHTTP2_FLAG_END_HEADERS;
}

static void count_empty(struct http2_frames *frames, int64_t now)
{
    int64_t interval = G_USEC_PER_SEC / HTTP2_EMPTY_RATE;
    int64_t forgiven;

    if (frames->forgiven == 0)
        frames->forgiven = now;
    forgiven = MAX(0, now - frames->forgiven) / interval;
    frames->forgiven += forgiven * interval;
    frames->empty -= (unsigned)MIN(forgiven, (int64_t)frames->empty);
    frames->is_flooded |= ++frames->empty > HTTP2_EMPTY_BURST;
}

size_t http2_frames_next(struct http2_frames *frames, const uint8_t *data,
                         size_t length, int64_t now)
{
    size_t used = 0;

    if (frames->left == 0) {
        const uint8_t *head = frames->head;

        used = MIN(length, HTTP2_FRAME_HEAD - frames->head_length);
        memcpy(frames->head + frames->head_length, data, used);
        frames->head_length += used;
        if (frames->head_length < HTTP2_FRAME_HEAD)
            return used;
        frames->head_length = 0;
        frames->left = (size_t)head[0] << 16 | (size_t)head[1] << 8 |
                       (size_t)head[2];
        if (carries_nothing(head, frames->left))
            count_empty(frames, now);
        note_head(frames);
    }
    length = MIN(length - used, frames->left);
    frames->left -= length;
    if (frames->left == 0 && frames->ends_head)
        frames->in_head = false;
    return used + length;
}
