/* SPDX-License-Identifier: Apache-2.0
 *
 * http2_parts - the structs of an HTTP/2 relay.
 *
 * A stream of the guest that is allowed has a stream of the server, with a
 * number of its own. Each has two bodies, one for each direction; bytes move
 * from a body when the session of the side that they go to sends them, and only
 * then does the window of the side that they come from open again.
 *
 * Limits: the windows bound the bodies, of a stream and in all. A head that a
 * side has not written yet counts against queued_heads, fields after a body
 * against held_trailers. Frames that a session has not sent are counted by
 * nghttp2; the relay reads no frame while there are too many.
 */
#ifndef PROXY_HTTP2_PARTS_H
#define PROXY_HTTP2_PARTS_H

#include "proxy/http2_body.h"
#include "proxy/http2_fields.h"
#include "proxy/http2_frames.h"
#include "proxy/http_override.h"
#include "proxy/http_relay.h"

enum {
    HTTP2_STREAMS = 100,      /* that a guest may open */
    HTTP2_STREAMS_HELD = 200, /* with those that one side has closed */
    HTTP2_WINDOW = 256 << 10, /* of a stream */
    HTTP2_WINDOWS = 1 << 20,  /* of a side */
    HTTP2_HEADS = 256 << 10,  /* bytes of heads that wait, of a side */
    HTTP2_TRAILERS = 256 << 10,
    HTTP2_FRAMES = 1000,     /* frames that wait, of a side */
    HTTP2_OUTPUT = 16 << 10, /* a frame more can follow */
    HTTP2_ACKS = 100,        /* to PING and SETTINGS, that wait */
};

struct http2_relay;

struct http2_end { /* a side of the relay */
    struct http2_relay *relay;
    enum http_side side;
    nghttp2_session *session;
    struct http2_frames frames;   /* of its input */
    struct http2_fields incoming; /* the list that arrives */
    GString *output;              /* NULL: none */
    size_t written;               /* of output */
    size_t queued_heads;
    bool has_ended;  /* its input */
    bool has_goaway; /* it gets no new streams: a GOAWAY was submitted */
    uint32_t goaway_code;
};

/* One direction of a stream; to_X is what side X gets. */
struct http2_flow {
    struct http2_body body;
    struct http2_fields trailers;
    bool has_trailers;
    bool has_ended; /* nothing follows the body and the trailers */
    bool was_sent;  /* as a whole */
};

struct http2_stream {
    struct http2_relay *relay;
    GList link;     /* of relay->streams or relay->done */
    int32_t ids[2]; /* of each side */
    bool is_open[2];
    bool is_reset[2]; /* RST_STREAM was submitted */
    struct http2_flow to[2];
    char *method, *path; /* of the request; NULL before its end */
    struct http_override override;
    bool is_refused, was_sent, is_told;
};

struct http2_relay {
    struct http_relay base;
    const struct http_context *context;
    struct http2_end ends[2];
    GQueue streams;  /* of which a side is open */
    GQueue done;     /* to be told and freed */
    bool is_sending; /* within output(): report nothing */
    size_t held_trailers;
    unsigned settings_sent;    /* to the guest, that it has not acknowledged */
    uint32_t streams_allowed;  /* the limit that the guest has got */
    uint32_t streams_possible; /* the server's, at most HTTP2_STREAMS */
    char *problem;
};

static inline enum http_side http2_other(enum http_side side)
{
    return side == HTTP_GUEST ? HTTP_SERVER : HTTP_GUEST;
}

#endif
