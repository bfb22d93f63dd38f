/* SPDX-License-Identifier: Apache-2.0
 *
 * http1_request - see http1_request.h.
 *
 * A request is written anew: the path alone as its target, one space behind
 * each field's colon, lengths and chunk sizes in one form. A request after
 * which a careless server could take the body for another request is the last
 * one of its connection, and the server is asked to close it: one that expects
 * "100 Continue", one with a body and a method that has none, and any with a
 * body if the policy allows only some requests: a server that ignores the body
 * of one would carry out another that was not judged (CL.0).
 */
#include "proxy/http1_request.h"

#include <inttypes.h>
#include <string.h>

#include "common/wiped.h"
#include "proxy/http_requests.h"

/* Those of RFC 3253 have at most 16 bytes. */
enum { METHOD_MAX = 64 };

/* Refuse the request in a way that ends the connection. */
static enum http_step refuse_for(struct http1_relay *relay,
                                 const struct refusal *refusal)
{
    const char *reason = refusal->reason, *other = refusal->other;
    g_autofree char *problem = other[0]
                                   ? g_strdup_printf("%s (%s)", reason, other)
                                   : g_strdup(reason);

    relay->closing = true;
    if (relay->response == HTTP1_RESPONSE_NONE ||
        relay->response == HTTP1_RESPONSE_HEAD)
        http1_exchange_refuse(relay, problem, NULL);
    if (relay->exchange.method) {
        relay->exchange.reason = reason;
        g_clear_pointer(&relay->exchange.allow, g_free);
    }
    return http1_exchange_fail(relay, problem);
}

static enum http_step refuse(struct http1_relay *relay, const char *reason)
{
    return refuse_for(relay, &(struct refusal){ reason });
}

/* ---- the request line ---------------------------------------------------- */

/* Set target to the origin form (RFC 9112, 3.2.1) of a target that
 * http_fields_take_request_line() has taken: a new string, or NULL. */
static char *origin_form(const struct http1_relay *relay, const char *text,
                         size_t len)
{
    size_t start;

    if (memchr(text, '#', len))
        return NULL;
    if (text[0] == '/' || text[0] == '*')
        return g_strndup(text, len);
    if (relay->context->tls)
        return NULL;
    start = strlen("http://");
    while (start < len && text[start] != '/' && text[start] != '?')
        start++;
    return g_strdup_printf("%s%.*s",
                           start < len && text[start] == '/' ? "" : "/",
                           (int)(len - start), text + start);
}

static enum http_step take_request_line(struct http1_relay *relay,
                                        const char *line, size_t len)
{
    struct http1_exchange *exchange = &relay->exchange;
    struct refusal refusal = { NULL };
    g_autofree char *target = NULL, *text = NULL;
    const char *first, *last;

    if (!http_fields_take_request_line(&relay->head, &relay->target, line, len,
                                       &refusal))
        return refuse_for(relay, &refusal);
    first = memchr(line, ' ', len);
    last = memrchr(line, ' ', len);
    if (first - line > METHOD_MAX)
        return refuse(relay, "the request's method is too long");
    target = origin_form(relay, first + 1, (size_t)(last - first - 1));
    if (!target)
        return refuse(relay, "the request's target must be a path");
    exchange->method = g_strndup(line, (size_t)(first - line));
    exchange->path = g_strndup(target, strcspn(target, "?"));
    exchange->to_head = strcmp(exchange->method, "HEAD") == 0;
    exchange->is_old = relay->head.is_old;
    text = g_strdup_printf("%s %s%.*s\r\n", exchange->method, target,
                           (int)(len - (size_t)(last - line)), last);
    http1_exchange_add(&relay->sides[HTTP_GUEST], text, strlen(text));
    return HTTP_ON;
}

/* ---- fields -------------------------------------------------------------- */

static bool has_body(const struct http_head *head)
{
    return head->is_chunked || head->length > 0;
}

/* Add "name: value"; with a value of other, instead of the field's. */
static bool add_field(struct http1_side *side, const struct http_field *field,
                      const char *value, size_t len)
{
    return http1_exchange_add(side, field->name, field->name_len) &&
           http1_exchange_add(side, ": ", 2) &&
           http1_exchange_add(side, value, len) &&
           http1_exchange_add(side, "\r\n", 2);
}

/* Add a field with the values of secrets. Return false if it is too long. */
static bool add_with_secrets(struct http1_relay *relay,
                             const struct http_field *field)
{
    struct http1_side *side = &relay->sides[HTTP_GUEST];
    const struct http_context *context = relay->context;
    g_autofree char *name = g_strndup(field->name, field->name_len);
    GString *value;
    const char *reason = NULL;
    enum secrets_verdict verdict;
    bool fits;

    if (!context->secrets)
        return add_field(side, field, field->value, field->value_len);
    value = g_string_new(NULL);
    verdict = secrets_put_in(context->secrets, context->name, context->tls,
                             name, field->value, field->value_len, value,
                             &reason);
    if (verdict == SECRETS_REFUSED && !relay->exchange.reason)
        relay->exchange.reason = reason;
    side->has_secrets = side->has_secrets || verdict == SECRETS_REPLACED;
    fits = verdict == SECRETS_REPLACED
               ? add_field(side, field, value->str, value->len)
               : add_field(side, field, field->value, field->value_len);
    wiped_free(value);
    return fits;
}

static enum http_step take_field(struct http1_relay *relay, const char *line,
                                 size_t len)
{
    struct http1_side *side = &relay->sides[HTTP_GUEST];
    struct http_head *head = &relay->head;
    struct refusal refusal = { NULL };
    struct http_field field;
    char number[24];
    bool fits;

    if (!http_fields_divide(line, len, &field, &refusal) ||
        !http_fields_take_field(head, &relay->target, &field, &refusal))
        return refuse_for(relay, &refusal);
    http_override_take(&relay->exchange.override, field.name, field.name_len,
                       field.value, field.value_len);
    if (http_fields_is(&field, "Content-Length")) {
        g_snprintf(number, sizeof(number), "%" PRIu64, head->length);
        fits = add_field(side, &field, number, strlen(number));
    } else if (http_fields_is(&field, "Connection") ||
               http_fields_is(&field, "Keep-Alive")) {
        http1_exchange_link(side, &field);
        fits = true;
    } else {
        fits = add_with_secrets(relay, &field);
    }
    return fits ? HTTP_ON
                : refuse(relay, "the head with its secrets is too long");
}

/* ---- the end of the head ------------------------------------------------- */

static bool is_safe(const char *method)
{
    static const char *const safe[] = { "GET", "HEAD", "OPTIONS", "TRACE",
                                        "DELETE" };

    for (unsigned i = 0; i < G_N_ELEMENTS(safe); i++) {
        if (g_ascii_strcasecmp(method, safe[i]) == 0)
            return true;
    }
    return false;
}

/* Answer a refused request, and drop its body. Whether the body of one that
 * expects "100 Continue" follows is unknown. */
static enum http_step refuse_request(struct http1_relay *relay)
{
    const struct http_head *head = &relay->head;
    struct http1_exchange *exchange = &relay->exchange;
    const char *reason = exchange->reason;

    http1_exchange_clear_side(&relay->sides[HTTP_GUEST]);
    relay->closing = relay->closing || head->is_old || head->closes ||
                     head->upgrades || (head->expects && has_body(head));
    http1_exchange_refuse(relay, reason, exchange->allow);
    http1_exchange_report(relay, 0, reason);
    if (relay->closing)
        return http1_exchange_fail(relay, reason);
    if (has_body(head))
        relay->request = HTTP1_REQUEST_BODY;
    else
        http1_exchange_end(relay);
    return HTTP_ON;
}

/* Send the head on. */
static enum http_step send_request(struct http1_relay *relay)
{
    static const char close[] = "Connection: close\r\n";
    struct http1_side *side = &relay->sides[HTTP_GUEST];
    const struct http_context *context = relay->context;
    const struct http_head *head = &relay->head;
    bool careful = has_body(head) &&
                   (head->expects || is_safe(relay->exchange.method) ||
                    network_policy_divides_requests(
                        context->policy, context->name, context->port));
    bool fits = true;

    if (careful)
        fits = http1_exchange_add(side, close, strlen(close));
    else if (side->linked)
        fits = http1_exchange_add(side, side->linked->str, side->linked->len);
    if (!fits || !http1_exchange_add(side, "\r\n", 2))
        return refuse(relay, "the head with its secrets is too long");
    http1_exchange_pass_head(relay, HTTP_GUEST);
    http_lines_clear(&side->lines);
    relay->closing = relay->closing || careful || head->closes || head->is_old;
    relay->exchange.upgrades = head->upgrades;
    relay->response = HTTP1_RESPONSE_HEAD;
    relay->request = head->upgrades   ? HTTP1_REQUEST_UPGRADE
                     : has_body(head) ? HTTP1_REQUEST_BODY
                                      : HTTP1_REQUEST_HEAD;
    return HTTP_ON;
}

static enum http_step end_head(struct http1_relay *relay)
{
    const struct http_context *context = relay->context;
    struct http1_exchange *exchange = &relay->exchange;
    const struct http_head *head = &relay->head;
    struct refusal refusal = { NULL };
    g_autofree char *allow = NULL, *reason = NULL;

    relay->heads++;
    if (!http_fields_end(head, &refusal))
        return refuse_for(relay, &refusal);
    if (head->upgrades && head->is_old)
        return refuse(relay, "an upgrade must be a request of HTTP/1.1");
    http_body_begin(&relay->sides[HTTP_GUEST].body, head->is_chunked,
                    head->length, false);
    if (!http_override_judge(&exchange->override, context->policy,
                             context->name, context->port, exchange->method,
                             exchange->path, &allow, &reason)) {
        g_free(exchange->allow);
        g_free(exchange->own);
        exchange->allow = g_steal_pointer(&allow);
        exchange->reason = exchange->own = g_steal_pointer(&reason);
    }
    return exchange->reason ? refuse_request(relay) : send_request(relay);
}

/* Return whether the guest's bytes belong to the next request, and that must
 * wait. */
static bool must_wait(const struct http1_relay *relay)
{
    return relay->response != HTTP1_RESPONSE_NONE ||
           relay_output_room(&relay->outputs[HTTP_SERVER]) == 0 ||
           relay_output_room(&relay->outputs[HTTP_GUEST]) == 0;
}

static enum http_step read_head(struct http1_relay *relay,
                                struct http_input *input)
{
    struct http_lines *lines = &relay->sides[HTTP_GUEST].lines;
    enum http_step step = http_lines_read(lines, input, HTTP_HEAD_MAX);
    const char *line, *problem;
    size_t len;

    if (step != HTTP_ON)
        return step;
    if (must_wait(relay))
        return HTTP_WAIT;
    line = http_lines_text(lines, &len, &problem);
    if (!line)
        return refuse(relay, problem);
    if (!relay->head.has_request_line)
        step = take_request_line(relay, line, len);
    else if (len > 0)
        step = take_field(relay, line, len);
    else
        return end_head(relay);
    http_lines_next(lines);
    return step;
}

/* ---- bodies -------------------------------------------------------------- */

static bool is_dropped(const struct http1_relay *relay)
{
    return relay->response == HTTP1_RESPONSE_NONE;
}

/* The request is complete. */
static enum http_step end_request(struct http1_relay *relay)
{
    http1_exchange_clear_side(&relay->sides[HTTP_GUEST]);
    relay->request = HTTP1_REQUEST_HEAD;
    if (is_dropped(relay) || relay->response == HTTP1_RESPONSE_OVER)
        http1_exchange_end(relay);
    return HTTP_ON;
}

/* Refuse a field of the trailer; also if the request has its response. */
static enum http_step refuse_trailer(struct http1_relay *relay,
                                     const char *reason)
{
    relay->exchange.reported = false;
    return refuse(relay, reason);
}

/* Take a field of the trailer. A secret cannot be refused there any more
 * without ending the request. */
static enum http_step take_trailer_field(struct http1_relay *relay,
                                         const struct http_field *field)
{
    struct http1_side *side = &relay->sides[HTTP_GUEST];
    const char *reason = relay->exchange.reason;

    if (http_override_has(field->name, field->name_len))
        return refuse_trailer(relay,
                              "a trailer asks for another method or path");
    if (!add_with_secrets(relay, field))
        return refuse(relay, "the trailer is too long");
    if (!is_dropped(relay) &&
        (side->has_secrets || relay->exchange.reason != reason))
        return refuse_trailer(relay, "a secret's placeholder is in a trailer");
    return HTTP_ON;
}

static const struct http1_trailer trailer = {
    .take_field = take_trailer_field,
    .fail = refuse,
};

static enum http_step read_body(struct http1_relay *relay,
                                struct http_input *input)
{
    struct http_body *body = &relay->sides[HTTP_GUEST].body;
    struct relay_output *output = is_dropped(relay)
                                      ? NULL
                                      : &relay->outputs[HTTP_SERVER];
    const char *problem;
    enum http_step step;

    if (body->state == HTTP_BODY_OVER)
        return end_request(relay);
    if (body->state == HTTP_BODY_TRAILER)
        return http1_exchange_read_trailer(relay, HTTP_GUEST, input, &trailer);
    step = http_body_read(body, input, output, &problem);
    return step == HTTP_FAILED ? refuse(relay, problem) : step;
}

/* ---- interface ----------------------------------------------------------- */

enum http_step http1_request_read(struct http1_relay *relay,
                                  struct http_input *input)
{
    switch (relay->request) {
    case HTTP1_REQUEST_HEAD:
        return read_head(relay, input);
    case HTTP1_REQUEST_BODY:
        return read_body(relay, input);
    case HTTP1_REQUEST_UPGRADE:
        break;
    }
    return HTTP_WAIT;
}

bool http1_request_wants(const struct http1_relay *relay)
{
    switch (relay->request) {
    case HTTP1_REQUEST_HEAD:
        return !relay->sides[HTTP_GUEST].lines.is_whole || !must_wait(relay);
    case HTTP1_REQUEST_BODY:
        return is_dropped(relay) ||
               relay_output_room(&relay->outputs[HTTP_SERVER]) > 0;
    case HTTP1_REQUEST_UPGRADE:
        break;
    }
    return false;
}

bool http1_request_is_awaited(const struct http1_relay *relay)
{
    return relay->request == HTTP1_REQUEST_HEAD &&
           relay->sides[HTTP_GUEST].lines.total > 0 && !must_wait(relay);
}
