/* SPDX-License-Identifier: Apache-2.0
 *
 * http2_peers - a guest and a server that speak HTTP/2 by nghttp2, with a relay
 * between them, all in this process.
 */
#ifndef TESTS_PROXY_HTTP2_PEERS_H
#define TESTS_PROXY_HTTP2_PEERS_H

#include <glib.h>
#include <nghttp2/nghttp2.h>

#include "proxy/http_relay.h"

#define NAME        "api.example.org"
#define PLACEHOLDER "stepback-abcdefghijklmnopqrstuvwx"
#define SECRET      "s3cret-value-of-a-token"

struct peer_stream {
    int32_t id;
    GString *head, *interim, *trailers; /* "name: value\n" for each field */
    GString *body;
    unsigned chunks; /* of body */
    bool has_head, is_whole, is_closed;
    unsigned secrets; /* fields that must not be indexed */
    bool is_slow;     /* the peer leaves its window closed */
    uint32_t code;    /* of RST_STREAM */
    GString *pending; /* to be sent */
    size_t sent;
    bool ends;
    const char *trailer; /* after the body; NULL: none */
};

struct peer {
    nghttp2_session *session;
    enum http_side side;
    GPtrArray *streams; /* in their order */
    GString *out;       /* that the relay has not taken */
    bool holds;         /* reads nothing */
    unsigned goaways;
    uint32_t goaway_code;
    int32_t goaway_last;
};

struct world {
    struct http_context context;
    struct network_policy policy;
    struct http_relay *relay;
    struct peer peers[2];
    GString *told;   /* "METHOD PATH STATUS [reason] [allow]\n" for each */
    size_t step;     /* bytes of one take() */
    bool has_failed; /* take() returned -1 */
    bool is_writing; /* nothing may be told */
};

/* All requests are allowed but those for /private. */
struct world *world_new(void);
void world_free_at(struct world **at);
#define world_auto __attribute__((cleanup(world_free_at)))

/* Change the policy to two entries. */
void world_set_policy(struct world *world, const char *first,
                      const char *second);

/* Move bytes until none move any more. */
void world_run(struct world *world);

/* The guest sends a request; fields: NULL or "name: value\n" lines, which can
 * replace pseudo-header fields. Return the stream. */
struct peer_stream *world_request(struct world *world, const char *method,
                                  const char *path, const char *fields,
                                  bool is_last);

/* The server's latest stream of the path, or NULL. */
struct peer_stream *world_find(struct world *world, const char *path);

/* The connection still serves a request: GET /alive. */
void world_expect_alive(struct world *world);

static inline struct peer *guest_of(struct world *world)
{
    return &world->peers[HTTP_GUEST];
}

static inline struct peer *server_of(struct world *world)
{
    return &world->peers[HTTP_SERVER];
}

void peer_answer(struct peer *peer, struct peer_stream *stream,
                 const char *fields, bool is_last);
void peer_interim(struct peer *peer, struct peer_stream *stream,
                  const char *fields);
void peer_send(struct peer *peer, struct peer_stream *stream, const char *data,
               size_t length, bool is_last);
/* The body ends with stream->trailer, or "x-sum: 1". */
void peer_send_trailer(struct peer *peer, struct peer_stream *stream);
void peer_reset(struct peer *peer, struct peer_stream *stream, uint32_t code);
/* Open the window of a slow stream. */
void peer_hurry(struct peer *peer, struct peer_stream *stream);

/* Bytes of the peer's own. */
void peer_inject(struct peer *peer, const void *data, size_t length);
void peer_inject_frame(struct peer *peer, uint8_t type, uint8_t flags,
                       int32_t id, const void *payload, size_t length);

#endif
