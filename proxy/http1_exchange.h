/* SPDX-License-Identifier: Apache-2.0
 *
 * http1_exchange - the request of an HTTP/1.x relay that is being answered.
 *
 * There is one at a time: the next request is not read before the response is
 * complete, so no response can be taken for that of another request. A response
 * can be complete before its request is.
 */
#ifndef PROXY_HTTP1_EXCHANGE_H
#define PROXY_HTTP1_EXCHANGE_H

#include <glib.h>
#include <stdbool.h>

#include "proxy/http_body.h"
#include "proxy/http_fields.h"
#include "proxy/http_input.h"
#include "proxy/http_override.h"
#include "proxy/http_relay.h"
#include "proxy/http_response.h"
#include "proxy/relay_output.h"

enum http1_request_state {
    HTTP1_REQUEST_HEAD, /* its first line is read ahead of the response */
    HTTP1_REQUEST_BODY,
    HTTP1_REQUEST_UPGRADE, /* waits for the status: what follows depends on it
                            */
};

enum http1_response_state {
    HTTP1_RESPONSE_NONE, /* no request has been sent */
    HTTP1_RESPONSE_HEAD,
    HTTP1_RESPONSE_BODY,
    HTTP1_RESPONSE_OVER, /* the request is not complete yet */
};

/* The input of a side. */
struct http1_side {
    struct http_lines lines;
    struct http_body body;
    GString *head;   /* of a head or trailer, as it will be written; or NULL */
    GString *linked; /* the Connection fields of the head; or NULL */
    bool has_secrets;
    bool ended;
};

struct http1_exchange {
    char *method, *path; /* NULL: there is no request */
    const char *reason;  /* why it is refused, a static text or own; or NULL */
    char *own, *allow;
    struct http_override override;
    bool to_head, is_old, upgrades;
    bool reported;
};

struct http1_relay {
    struct http_relay relay;
    const struct http_context *context;
    struct http_target target;
    struct http1_side sides[2];
    struct relay_output outputs[2]; /* to a side */
    enum http1_request_state request;
    enum http1_response_state response;
    struct http_head head;              /* of the request */
    unsigned heads;                     /* of requests, that were complete */
    struct http_response response_head; /* of the response */
    struct http1_exchange exchange;
    bool tunnel;  /* WebSocket: all bytes are copied */
    bool closing; /* the exchange is the last one */
    bool over;    /* nothing more is read */
    char *problem;
};

/* Report the request, once: answered with status, or refused or left without a
 * response because of reason. */
void http1_exchange_report(struct http1_relay *relay, unsigned status,
                           const char *reason);

/* Answer a request with a text: "403 Forbidden". */
void http1_exchange_answer(struct http1_relay *relay, const char *status,
                           const char *text);

/* Answer a refused request with 403. */
void http1_exchange_refuse(struct http1_relay *relay, const char *reason,
                           const char *allow);

/* End the relay with a problem. Return HTTP_FAILED. */
enum http_step http1_exchange_fail(struct http1_relay *relay,
                                   const char *problem);

/* The exchange is complete: expect the next request, or end. */
void http1_exchange_end(struct http1_relay *relay);

/* Add to the head of a side. Return false if it would be too long. */
bool http1_exchange_add(struct http1_side *side, const char *text, size_t len);

/* Keep the words of a Connection field for the end of the head; Keep-Alive is
 * dropped. */
void http1_exchange_link(struct http1_side *side,
                         const struct http_field *field);

/* Move the head of a side to the other side's output. */
void http1_exchange_pass_head(struct http1_relay *relay, enum http_side from);

/* How a side takes a trailer. */
struct http1_trailer {
    /* Add the field to the head of the side, or fail. */
    enum http_step (*take_field)(struct http1_relay *relay,
                                 const struct http_field *field);
    /* End the relay. Return HTTP_FAILED. reason: a static text. */
    enum http_step (*fail)(struct http1_relay *relay, const char *reason);
};

/* Read a line of the trailer; with its last line, send the trailer on, unless
 * the request is refused, and set HTTP_BODY_OVER. */
enum http_step http1_exchange_read_trailer(struct http1_relay *relay,
                                           enum http_side from,
                                           struct http_input *input,
                                           const struct http1_trailer *trailer);

/* Free what is read from a side. */
void http1_exchange_clear_side(struct http1_side *side);

#endif
