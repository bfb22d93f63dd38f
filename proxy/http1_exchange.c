/* SPDX-License-Identifier: Apache-2.0
 *
 * http1_exchange - see http1_exchange.h.
 */
#include "proxy/http1_exchange.h"

#include <string.h>

#include "common/wiped.h"
#include "proxy/http_requests.h"

/* Of a report. */
enum { PATH_MAX_LENGTH = 1 << 10 };

/* Of a head with secrets. */
enum { HEAD_OUT_MAX = 128 << 10 };

/* ---- reports ------------------------------------------------------------- */

void http1_exchange_report(struct http1_relay *relay, unsigned status,
                           const char *reason)
{
    struct http1_exchange *exchange = &relay->exchange;
    g_autofree char *path = NULL;
    struct http_exchange report = {
        .method = exchange->method,
        .status = status,
        .refused = exchange->reason != NULL,
        .reason = reason,
        .allow = exchange->allow,
    };

    if (!exchange->method || exchange->reported)
        return;
    exchange->reported = true;
    report.path = path = g_strndup(exchange->path, PATH_MAX_LENGTH);
    relay->context->exchanged(&report, relay->context->opaque);
}

static void clear_exchange(struct http1_exchange *exchange)
{
    g_free(exchange->method);
    g_free(exchange->path);
    g_free(exchange->own);
    g_free(exchange->allow);
    http_override_clear(&exchange->override);
    *exchange = (struct http1_exchange){ 0 };
}

void http1_exchange_end(struct http1_relay *relay)
{
    clear_exchange(&relay->exchange);
    relay->head = (struct http_head){ 0 };
    relay->response_head = (struct http_response){ 0 };
    relay->request = HTTP1_REQUEST_HEAD;
    relay->response = HTTP1_RESPONSE_NONE;
    if (relay->closing || relay->sides[HTTP_GUEST].ended)
        relay->over = true;
}

/* ---- answers ------------------------------------------------------------- */

void http1_exchange_answer(struct http1_relay *relay, const char *status,
                           const char *text)
{
    g_autofree char *answer = g_strdup_printf(
        "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
        "Content-Length: %zu\r\n%s\r\n%s",
        status, strlen(text), relay->closing ? "Connection: close\r\n" : "",
        relay->exchange.to_head ? "" : text);

    relay_output_add(&relay->outputs[HTTP_GUEST], answer, strlen(answer));
}

void http1_exchange_refuse(struct http1_relay *relay, const char *reason,
                           const char *allow)
{
    const char *name = relay->context->name;
    g_autofree char *hint = allow ? g_strdup_printf("Add %s to --network to "
                                                    "allow it.\n",
                                                    allow)
                                  : g_strdup("");
    g_autofree char *text = g_strdup_printf(
        "Stepback refused this request to %s: %s.\n%s", name, reason, hint);

    http1_exchange_answer(relay, "403 Forbidden", text);
}

enum http_step http1_exchange_fail(struct http1_relay *relay,
                                   const char *problem)
{
    if (!relay->problem)
        relay->problem = g_strdup(problem);
    http1_exchange_report(relay, 0, problem);
    relay->over = true;
    return HTTP_FAILED;
}

/* ---- heads --------------------------------------------------------------- */

bool http1_exchange_add(struct http1_side *side, const char *text, size_t len)
{
    if (!side->head)
        side->head = g_string_sized_new(512);
    if (side->head->len + len > HEAD_OUT_MAX)
        return false;
    wiped_append(side->head, text, len);
    return true;
}

/* Only words that mean something between two ends are kept: others could be a
 * placeholder, or a value. */
void http1_exchange_link(struct http1_side *side,
                         const struct http_field *field)
{
    static const char *const words[] = { "close", "keep-alive", "Upgrade" };
    g_autofree char *value = g_strndup(field->value, field->value_len);
    g_auto(GStrv) members = g_strsplit(value, ",", -1);

    if (!http_fields_is(field, "Connection"))
        return;
    for (char **member = members; *member; member++) {
        for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
            if (g_ascii_strcasecmp(g_strstrip(*member), words[i]) != 0)
                continue;
            if (!side->linked)
                side->linked = g_string_new(NULL);
            g_string_append_printf(side->linked, "Connection: %s\r\n",
                                   words[i]);
        }
    }
}

static void drop(GString **text, bool clears)
{
    if (clears)
        wiped_free(*text);
    else if (*text)
        g_string_free(*text, TRUE);
    *text = NULL;
}

static void drop_head(struct http1_side *side)
{
    drop(&side->head, side->has_secrets);
    drop(&side->linked, false);
    side->has_secrets = false;
}

void http1_exchange_pass_head(struct http1_relay *relay, enum http_side from)
{
    struct http1_side *side = &relay->sides[from];
    struct relay_output *output = &relay->outputs[!from];

    if (side->head) {
        relay_output_add(output, side->head->str, side->head->len);
        output->has_secrets = output->has_secrets || side->has_secrets;
    }
    drop_head(side);
}

void http1_exchange_clear_side(struct http1_side *side)
{
    drop_head(side);
    http_lines_clear(&side->lines);
}

/* ---- trailers ------------------------------------------------------------ */

static enum http_step take_trailer_line(struct http1_relay *relay,
                                        const char *line, size_t len,
                                        const struct http1_trailer *trailer)
{
    struct refusal refusal = { NULL };
    struct http_field field;

    return http_fields_divide(line, len, &field, &refusal) &&
                   http_fields_take_trailer_field(&field, &refusal)
               ? trailer->take_field(relay, &field)
               : trailer->fail(relay, refusal.reason);
}

enum http_step http1_exchange_read_trailer(struct http1_relay *relay,
                                           enum http_side from,
                                           struct http_input *input,
                                           const struct http1_trailer *trailer)
{
    struct http1_side *side = &relay->sides[from];
    enum http_step step = http_lines_read(&side->lines, input, HTTP_HEAD_MAX);
    const char *line, *problem;
    size_t len;

    if (step != HTTP_ON)
        return step;
    line = http_lines_text(&side->lines, &len, &problem);
    if (!line)
        return trailer->fail(relay, problem);
    if (!side->head)
        http1_exchange_add(side, "0\r\n", 3);
    if (len > 0) {
        step = take_trailer_line(relay, line, len, trailer);
        http_lines_next(&side->lines);
        return step;
    }
    http1_exchange_add(side, "\r\n", 2);
    if (relay->response != HTTP1_RESPONSE_NONE)
        http1_exchange_pass_head(relay, from);
    side->body.state = HTTP_BODY_OVER;
    return HTTP_ON;
}
