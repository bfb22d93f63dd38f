/* SPDX-License-Identifier: Apache-2.0
 *
 * http_requests - checks each request of an HTTP/1.x connection.
 *
 * The caller holds the guest's bytes until the reader passes them: a head as a
 * whole, a body as it comes. The verdict depends on the bytes alone, not on how
 * they were divided.
 *
 * An upgrade must be the first request: the reader sees no responses, so it
 * could not tell the response to a later one from a body before it. After an
 * upgrade nothing passes until the caller knows the response's status.
 */
#ifndef PROXY_HTTP_REQUESTS_H
#define PROXY_HTTP_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proxy/http_fields.h"

/* The longest head. The caller must be able to hold as many bytes. */
enum { HTTP_HEAD_MAX = 64 << 10 };

enum http_requests_state {
    HTTP_REQUESTS_HEAD,
    HTTP_REQUESTS_BODY,
    HTTP_REQUESTS_CHUNK_SIZE,
    HTTP_REQUESTS_CHUNK,
    HTTP_REQUESTS_CHUNK_END,
    HTTP_REQUESTS_TRAILER,
    HTTP_REQUESTS_UPGRADE, /* waits for http_requests_answered() */
    HTTP_REQUESTS_OVER,    /* upgraded: everything passes */
};

struct http_requests {
    struct http_target target;
    enum http_requests_state state;
    size_t line, scanned; /* offsets in the bytes that have not passed */
    uint64_t left;        /* of a body or a chunk */
    uint64_t count;       /* of heads that have passed */
    struct http_head head;
};

/* name is borrowed. */
void http_requests_init(struct http_requests *requests, const char *name,
                        unsigned port);

/* Judge data: all bytes that have not passed yet, from the first. Set
 * ret_passed to the number of leading bytes that now pass; the next call must
 * begin behind them. Return false, and set the refusal, if a request is
 * refused: the bytes of ret_passed passed before it. */
bool http_requests_judge(struct http_requests *requests, const char *data,
                         size_t length, size_t *ret_passed,
                         struct refusal *refusal);

/* The server has answered an upgrade; switched: with status 101. */
void http_requests_answered(struct http_requests *requests, bool switched);

/* Return whether the guest is between two requests, or has upgraded. */
bool http_requests_is_whole(const struct http_requests *requests);

#endif
