/* SPDX-License-Identifier: Apache-2.0
 *
 * http_response - the lines of an HTTP/1.x response's head, and what they mean
 * (RFC 9112, 4 and 6).
 *
 * As strict as http_fields.h: a response whose length has two readings is
 * refused.
 */
#ifndef PROXY_HTTP_RESPONSE_H
#define PROXY_HTTP_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proxy/http_fields.h"

/* A response's head, as far as it was read. Zero at first. */
struct http_response {
    bool has_status_line, is_old; /* old: HTTP/1.0 */
    unsigned status;
    bool has_length, is_chunked;
    bool closes, keeps; /* Connection: close, keep-alive */
    bool upgrades;      /* to WebSocket */
    uint64_t length;
};

/* Take a status line without its CR LF. Set ret_reason to the reason phrase in
 * it, and its length. Return false, and set the refusal, if it is malformed. */
bool http_response_take_status_line(struct http_response *response,
                                    const char *line, size_t len,
                                    const char **ret_reason,
                                    size_t *ret_reason_len,
                                    struct refusal *refusal);

/* Take a field. Return false, and set the refusal, if it is not allowed. */
bool http_response_take(struct http_response *response,
                        const struct http_field *field,
                        struct refusal *refusal);

/* Check the whole head. */
bool http_response_end(struct http_response *response, struct refusal *refusal);

/* Of a whole head: an interim response, before the final one. */
bool http_response_is_interim(const struct http_response *response);

enum http_response_body {
    HTTP_RESPONSE_NO_BODY,
    HTTP_RESPONSE_SIZED,  /* chunked, or with a length */
    HTTP_RESPONSE_TO_END, /* of the connection */
};

/* Return how the body of a response to this request ends. */
enum http_response_body http_response_body(const struct http_response *response,
                                           bool to_head);

#endif
