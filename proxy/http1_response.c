/* SPDX-License-Identifier: Apache-2.0
 *
 * http1_response - see http1_response.h.
 */
#include "proxy/http1_response.h"

#include <inttypes.h>
#include <string.h>

#include "common/wiped.h"
#include "proxy/http_requests.h"

/* The server breaks the protocol. The guest gets an answer if no part of the
 * response has reached it. */
static enum http_step fail(struct http1_relay *relay, const char *problem)
{
    g_autofree char *text = g_strdup_printf("the server's response is "
                                            "malformed: %s",
                                            problem);
    g_autofree char *body = g_strdup_printf("Stepback: %s.\n", text);

    relay->closing = true;
    if (relay->response == HTTP1_RESPONSE_HEAD)
        http1_exchange_answer(relay, "502 Bad Gateway", body);
    return http1_exchange_fail(relay, text);
}

/* ---- lines --------------------------------------------------------------- */

/* Add a line with placeholders for the values of secrets. A field whose name is
 * lost by that is left out. */
static bool add_line(struct http1_relay *relay, const char *line, size_t len)
{
    struct http1_side *side = &relay->sides[HTTP_SERVER];
    struct secrets *secrets = relay->context->secrets;
    g_autoptr(GString) text = g_string_new(NULL);
    bool is_field = side->head != NULL;
    struct refusal refusal;
    struct http_field field;

    if (secrets &&
        secrets_take_out(secrets, relay->context->name, line, len, text)) {
        if (is_field &&
            !http_fields_divide(text->str, text->len, &field, &refusal))
            return true;
        line = text->str;
        len = text->len;
    }
    return http1_exchange_add(side, line, len) &&
           http1_exchange_add(side, "\r\n", 2);
}

static bool add_field(struct http1_relay *relay, const struct http_field *field)
{
    GString *line = g_string_sized_new(field->name_len + field->value_len + 2);
    bool fits;

    wiped_append(line, field->name, field->name_len);
    g_string_append(line, ": ");
    wiped_append(line, field->value, field->value_len);
    fits = add_line(relay, line->str, line->len);
    wiped_free(line);
    return fits;
}

static enum http_step take_status_line(struct http1_relay *relay,
                                       const char *line, size_t len)
{
    struct http_response *response = &relay->response_head;
    struct refusal refusal = { NULL };
    g_autofree char *text = NULL;
    const char *reason;
    size_t reason_len;

    if (!http_response_take_status_line(response, line, len, &reason,
                                        &reason_len, &refusal))
        return fail(relay, refusal.reason);
    text = g_strdup_printf("HTTP/1.%d %u %.*s", response->is_old ? 0 : 1,
                           response->status, (int)reason_len, reason);
    return add_line(relay, text, strlen(text))
               ? HTTP_ON
               : fail(relay, "its head is too long");
}

static enum http_step take_field(struct http1_relay *relay, const char *line,
                                 size_t len)
{
    struct http1_side *side = &relay->sides[HTTP_SERVER];
    struct http_response *response = &relay->response_head;
    struct refusal refusal = { NULL };
    struct http_field field;
    char text[64];
    bool fits = true;

    if (!http_fields_divide(line, len, &field, &refusal) ||
        !http_response_take(response, &field, &refusal))
        return fail(relay, refusal.reason);
    if (http_fields_is(&field, "Content-Length")) {
        g_snprintf(text, sizeof(text), "Content-Length: %" PRIu64 "\r\n",
                   response->length);
        fits = http1_exchange_add(side, text, strlen(text));
    } else if (http_fields_is(&field, "Connection") ||
               http_fields_is(&field, "Keep-Alive")) {
        http1_exchange_link(side, &field);
    } else {
        fits = add_field(relay, &field);
    }
    return fits ? HTTP_ON : fail(relay, "its head is too long");
}

/* ---- the end of the head ------------------------------------------------- */

/* Send the head on, with the Connection fields that fit. */
static bool pass_head(struct http1_relay *relay)
{
    static const char close[] = "Connection: close\r\n";
    struct http1_side *side = &relay->sides[HTTP_SERVER];
    bool fits = true;

    if (relay->closing && !http_response_is_interim(&relay->response_head))
        fits = http1_exchange_add(side, close, strlen(close));
    else if (side->linked)
        fits = http1_exchange_add(side, side->linked->str, side->linked->len);
    if (!fits || !http1_exchange_add(side, "\r\n", 2))
        return false;
    http1_exchange_pass_head(relay, HTTP_SERVER);
    http1_exchange_clear_side(side);
    return true;
}

/* The response is complete. */
static enum http_step end_response(struct http1_relay *relay)
{
    http1_exchange_clear_side(&relay->sides[HTTP_SERVER]);
    if (relay->request == HTTP1_REQUEST_BODY) {
        relay->response = HTTP1_RESPONSE_OVER;
        relay->over = relay->sides[HTTP_GUEST].ended;
    } else {
        http1_exchange_end(relay);
    }
    return HTTP_ON;
}

static enum http_step switch_protocol(struct http1_relay *relay)
{
    if (!relay->exchange.upgrades)
        return fail(relay, "it switches the protocol, which the request does "
                           "not ask for");
    if (!pass_head(relay))
        return fail(relay, "its head is too long");
    http1_exchange_report(relay, relay->response_head.status, NULL);
    relay->tunnel = true;
    return HTTP_ON;
}

/* A client of HTTP/1.0 does not expect an interim response. */
static enum http_step take_interim(struct http1_relay *relay)
{
    if (relay->exchange.is_old)
        http1_exchange_clear_side(&relay->sides[HTTP_SERVER]);
    else if (!pass_head(relay))
        return fail(relay, "its head is too long");
    relay->response_head = (struct http_response){ 0 };
    return HTTP_ON;
}

static enum http_step take_final(struct http1_relay *relay)
{
    const struct http_response *response = &relay->response_head;
    struct http_body *body = &relay->sides[HTTP_SERVER].body;
    enum http_response_body kind = http_response_body(response,
                                                      relay->exchange.to_head);

    if (response->is_chunked && relay->exchange.is_old)
        return fail(relay, "it is chunked, which HTTP/1.0 does not have");
    relay->closing = relay->closing || response->closes ||
                     kind == HTTP_RESPONSE_TO_END;
    if (!pass_head(relay))
        return fail(relay, "its head is too long");
    http1_exchange_report(relay, response->status, NULL);
    if (relay->request == HTTP1_REQUEST_UPGRADE)
        relay->request = HTTP1_REQUEST_HEAD;
    if (kind == HTTP_RESPONSE_NO_BODY)
        return end_response(relay);
    relay->response = HTTP1_RESPONSE_BODY;
    if (kind == HTTP_RESPONSE_TO_END)
        http_body_begin_to_end(body);
    else
        http_body_begin(body, response->is_chunked, response->length, true);
    return HTTP_ON;
}

static enum http_step end_head(struct http1_relay *relay)
{
    struct http_response *response = &relay->response_head;
    struct refusal refusal = { NULL };

    if (!http_response_end(response, &refusal))
        return fail(relay, refusal.reason);
    if (response->status == 101)
        return switch_protocol(relay);
    return http_response_is_interim(response) ? take_interim(relay)
                                              : take_final(relay);
}

static enum http_step read_head(struct http1_relay *relay,
                                struct http_input *input)
{
    struct http_lines *lines = &relay->sides[HTTP_SERVER].lines;
    enum http_step step;
    const char *line, *problem;
    size_t len;

    if (relay_output_room(&relay->outputs[HTTP_GUEST]) == 0)
        return HTTP_WAIT;
    step = http_lines_read(lines, input, HTTP_HEAD_MAX);
    if (step != HTTP_ON)
        return step;
    line = http_lines_text(lines, &len, &problem);
    if (!line)
        return fail(relay, problem);
    if (!relay->response_head.has_status_line)
        step = take_status_line(relay, line, len);
    else if (len > 0)
        step = take_field(relay, line, len);
    else
        return end_head(relay);
    http_lines_next(lines);
    return step;
}

/* ---- bodies -------------------------------------------------------------- */

static enum http_step take_trailer_field(struct http1_relay *relay,
                                         const struct http_field *field)
{
    return add_field(relay, field) ? HTTP_ON
                                   : fail(relay, "its trailer is too long");
}

static const struct http1_trailer trailer = {
    .take_field = take_trailer_field,
    .fail = fail,
};

static enum http_step read_body(struct http1_relay *relay,
                                struct http_input *input)
{
    struct http_body *body = &relay->sides[HTTP_SERVER].body;
    const char *problem;
    enum http_step step;

    if (body->state == HTTP_BODY_OVER)
        return end_response(relay);
    if (body->state == HTTP_BODY_TRAILER)
        return http1_exchange_read_trailer(relay, HTTP_SERVER, input, &trailer);
    step = http_body_read(body, input, &relay->outputs[HTTP_GUEST], &problem);
    return step == HTTP_FAILED ? fail(relay, problem) : step;
}

/* ---- interface ----------------------------------------------------------- */

enum http_step http1_response_read(struct http1_relay *relay,
                                   struct http_input *input)
{
    switch (relay->response) {
    case HTTP1_RESPONSE_HEAD:
        return read_head(relay, input);
    case HTTP1_RESPONSE_BODY:
        return read_body(relay, input);
    case HTTP1_RESPONSE_NONE:
    case HTTP1_RESPONSE_OVER:
        break;
    }
    return input->used < input->length
               ? http1_exchange_fail(relay, "the server sent bytes that belong "
                                            "to no response")
               : HTTP_WAIT;
}

bool http1_response_wants(const struct http1_relay *relay)
{
    bool reads = relay->response == HTTP1_RESPONSE_HEAD ||
                 relay->response == HTTP1_RESPONSE_BODY;

    return !reads || relay_output_room(&relay->outputs[HTTP_GUEST]) > 0;
}

void http1_response_end(struct http1_relay *relay)
{
    if (relay->response == HTTP1_RESPONSE_HEAD)
        http1_exchange_report(relay, 0,
                              "the server ended the connection without a "
                              "response");
    relay->over = true;
}
