/* SPDX-License-Identifier: Apache-2.0
 *
 * http2_request - judges the header lists of one HTTP/2 connection, and
 * exchanges secrets and placeholders in them.
 *
 * nghttp2 has checked a list before (RFC 9113, 8): which pseudo-header fields
 * it has, their order, and the syntax. One thread.
 */
#ifndef PROXY_HTTP2_REQUEST_H
#define PROXY_HTTP2_REQUEST_H

#include <stdbool.h>

#include "proxy/http2_fields.h"
#include "proxy/http_override.h"
#include "proxy/http_relay.h"

/* Zero at first. */
struct http2_refusal {
    unsigned status;    /* of the answer */
    const char *reason; /* a static text, or own */
    char *own;
    char *allow; /* the policy's entry that would allow it, or NULL */
};

/* Free the texts. */
void http2_refusal_clear(struct http2_refusal *refusal);

/* The method and the path without query, as new texts for a record: printable
 * ASCII, cut, "" if there is none. */
char *http2_request_method(const struct http2_fields *head);
char *http2_request_path(const struct http2_fields *head);

/* Note the fields that ask for another method or path; clear ret_override with
 * http_override_clear(). */
void http2_request_get_overrides(const struct http2_fields *head,
                                 struct http_override *ret_override);

/* Judge a request. On success ret_head (empty before) is the head for the
 * server; else the refusal is set. */
bool http2_request_judge(const struct http_context *context,
                         const struct http2_fields *head,
                         struct http2_fields *ret_head,
                         struct http2_refusal *refusal);

/* Judge the fields after a request's body; no placeholder may be in them. */
bool http2_request_judge_trailers(const struct http_context *context,
                                  const struct http2_fields *trailers,
                                  struct http2_refusal *refusal);

/* Copy the fields, with placeholders for values of the secrets; context:
 * NULL: as they are.
 * The copy can be too long. */
void http2_response_copy(const struct http_context *context,
                         const struct http2_fields *fields,
                         struct http2_fields *ret_fields);

/* Return the body of the answer to a refused request, as a new string. */
char *http2_refusal_text(const struct http_context *context,
                         const struct http2_refusal *refusal);

#endif
