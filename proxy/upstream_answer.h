/* SPDX-License-Identifier: Apache-2.0
 *
 * upstream_answer - what an upstream proxy answers to CONNECT (RFC 9110,
 * 9.3.6): a head without a body.
 *
 * As strict as http_response.h. A status 2xx opens the tunnel, whatever length
 * the head gives; the bytes after the head are the server's. Interim responses
 * before it are skipped.
 */
#ifndef PROXY_UPSTREAM_ANSWER_H
#define PROXY_UPSTREAM_ANSWER_H

#include <stddef.h>

#include "proxy/http_input.h"
#include "proxy/http_response.h"

/* Bytes of all heads until the tunnel. */
enum { UPSTREAM_ANSWER_MAX = 16 << 10 };

enum upstream_answer_verdict {
    UPSTREAM_ANSWER_MORE,
    UPSTREAM_ANSWER_TUNNEL,
    UPSTREAM_ANSWER_REFUSED, /* see problem */
};

/* Zero at first. */
struct upstream_answer {
    struct http_lines lines;
    struct http_response head;
    char *problem; /* owned; ASCII without control characters */
};

/* Read the next bytes. Set ret_used to how many of them belong to the answer:
 * all, unless the tunnel is open. Call it until it returns another verdict than
 * UPSTREAM_ANSWER_MORE. */
enum upstream_answer_verdict
upstream_answer_read(struct upstream_answer *answer, const char *data,
                     size_t length, size_t *ret_used);

void upstream_answer_clear(struct upstream_answer *answer);

#endif
