/* SPDX-License-Identifier: Apache-2.0
 *
 * http_fields - the lines of an HTTP/1.x head, and what a request's mean.
 *
 * Stricter than RFC 9112 wherever two implementations could divide the bytes in
 * different ways: a proxy behind the server's address must see the same
 * requests as this one.
 */
#ifndef PROXY_HTTP_FIELDS_H
#define PROXY_HTTP_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proxy/host_name.h"

/* A request's head, as far as it was read. */
struct http_head {
    bool has_request_line, is_get, is_old; /* old: HTTP/1.0 */
    bool has_host, has_length, is_chunked;
    bool upgrades;        /* to WebSocket (RFC 6455) */
    bool expects, closes; /* Expect; "Connection: close" */
    uint64_t length;      /* of the body */
};

/* The name and port that each request must be for. */
struct http_target {
    const char *name; /* borrowed */
    unsigned port;
};

/* Each takes a line without its CR LF. Return false, and set the refusal, if
 * the line or what it asks for is not allowed. */
bool http_fields_take_request_line(struct http_head *head,
                                   const struct http_target *target,
                                   const char *line, size_t len,
                                   struct refusal *refusal);
bool http_fields_take(struct http_head *head, const struct http_target *target,
                      const char *line, size_t len, struct refusal *refusal);

/* A field's line, divided. */
struct http_field {
    const char *name, *value; /* borrowed; value without space around it */
    size_t name_len, value_len;
};

/* Divide "name: value", also of a response. */
bool http_fields_divide(const char *line, size_t len,
                        struct http_field *ret_field, struct refusal *refusal);

bool http_fields_is(const struct http_field *field, const char *name);

/* Return whether a field's value is a list that has the word. */
bool http_fields_lists(const struct http_field *field, const char *word);

/* Take a field that is divided. */
bool http_fields_take_field(struct http_head *head,
                            const struct http_target *target,
                            const struct http_field *field,
                            struct refusal *refusal);

/* A field after a chunked body; those that the head must have are refused. */
bool http_fields_take_trailer(const char *line, size_t len,
                              struct refusal *refusal);
bool http_fields_take_trailer_field(const struct http_field *field,
                                    struct refusal *refusal);

/* Check the whole head. */
bool http_fields_end(const struct http_head *head, struct refusal *refusal);

#endif
