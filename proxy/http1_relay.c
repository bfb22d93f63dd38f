/* SPDX-License-Identifier: Apache-2.0
 *
 * http1_relay - see http1_relay.h.
 */
#include "proxy/http1_relay.h"

#include "proxy/http1_exchange.h"
#include "proxy/http1_request.h"
#include "proxy/http1_response.h"

static struct http1_relay *relay_of(struct http_relay *relay)
{
    return (struct http1_relay *)relay; /* its first member */
}

static const struct http1_relay *const_relay_of(const struct http_relay *relay)
{
    return (const struct http1_relay *)relay;
}

/* ---- taking -------------------------------------------------------------- */

/* Copy bytes of a WebSocket. */
static enum http_step copy(struct http1_relay *relay, enum http_side from,
                           struct http_input *input)
{
    struct relay_output *output = &relay->outputs[!from];
    size_t length = MIN(input->length - input->used, relay_output_room(output));

    if (length > 0)
        relay_output_add(output, input->data + input->used, length);
    input->used += length;
    return HTTP_WAIT;
}

static enum http_step read_part(struct http1_relay *relay, enum http_side from,
                                struct http_input *input)
{
    if (relay->tunnel)
        return copy(relay, from, input);
    if (relay->over)
        return HTTP_WAIT;
    return from == HTTP_GUEST ? http1_request_read(relay, input)
                              : http1_response_read(relay, input);
}

static ssize_t take(struct http_relay *base, enum http_side from,
                    const uint8_t *data, size_t length)
{
    struct http1_relay *relay = relay_of(base);
    struct http_input input = { (const char *)data, length, 0 };
    enum http_step step = relay->problem ? HTTP_FAILED : HTTP_ON;

    while (step == HTTP_ON)
        step = read_part(relay, from, &input);
    return step == HTTP_FAILED ? -1 : (ssize_t)input.used;
}

static bool wants(const struct http_relay *base, enum http_side from)
{
    const struct http1_relay *relay = const_relay_of(base);

    if (relay->over || relay->sides[from].ended)
        return false;
    if (relay->tunnel)
        return relay_output_room(&relay->outputs[!from]) > 0;
    return from == HTTP_GUEST ? http1_request_wants(relay)
                              : http1_response_wants(relay);
}

/* The guest sends no more. A request that is not complete reaches the server as
 * far as it was sent, and ends there. */
static void end_guest(struct http1_relay *relay)
{
    bool waits = relay->response == HTTP1_RESPONSE_HEAD ||
                 relay->response == HTTP1_RESPONSE_BODY;

    if (!waits)
        relay->over = true;
}

static void end(struct http_relay *base, enum http_side from)
{
    struct http1_relay *relay = relay_of(base);

    relay->sides[from].ended = true;
    if (relay->tunnel || relay->over)
        return;
    if (from == HTTP_GUEST)
        end_guest(relay);
    else
        http1_response_end(relay);
}

/* ---- output -------------------------------------------------------------- */

static const uint8_t *output(struct http_relay *base, enum http_side to,
                             size_t *ret_length)
{
    return relay_output_get(&relay_of(base)->outputs[to], ret_length);
}

static void written(struct http_relay *base, enum http_side to, size_t length)
{
    relay_output_written(&relay_of(base)->outputs[to], length);
}

static bool is_over(const struct http_relay *base, enum http_side to)
{
    const struct http1_relay *relay = const_relay_of(base);

    return relay_output_is_empty(&relay->outputs[to]) &&
           (relay->over || relay->sides[!to].ended);
}

static unsigned begun_head(const struct http_relay *base)
{
    const struct http1_relay *relay = const_relay_of(base);

    return !relay->over && !relay->tunnel && http1_request_is_awaited(relay)
               ? relay->heads + 1
               : 0;
}

static const char *problem(const struct http_relay *base)
{
    return const_relay_of(base)->problem;
}

/* ---- life ---------------------------------------------------------------- */

static void free_relay(struct http_relay *base)
{
    struct http1_relay *relay = relay_of(base);

    if (relay->response == HTTP1_RESPONSE_HEAD)
        http1_exchange_report(relay, 0,
                              "the connection ended without a response");
    relay->closing = true;
    http1_exchange_end(relay);
    for (int side = 0; side < 2; side++) {
        http1_exchange_clear_side(&relay->sides[side]);
        relay_output_clear(&relay->outputs[side]);
    }
    g_free(relay->problem);
    g_free(relay);
}

static bool is_allowed(const struct http_relay *base)
{
    const struct http1_relay *relay = (const struct http1_relay *)base;
    const struct http1_exchange *exchange = &relay->exchange;
    const struct http_context *context = relay->context;
    g_autofree char *allow = NULL;

    return relay->response == HTTP1_RESPONSE_NONE || exchange->reason ||
           http_override_judge(&exchange->override, context->policy,
                               context->name, context->port, exchange->method,
                               exchange->path, &allow, NULL);
}

static const struct http_relay_ops ops = {
    .free = free_relay,
    .take = take,
    .end = end,
    .output = output,
    .written = written,
    .wants = wants,
    .is_over = is_over,
    .is_allowed = is_allowed,
    .begun_head = begun_head,
    .problem = problem,
};

struct http_relay *http1_relay_new(const struct http_context *context)
{
    struct http1_relay *relay = g_new0(struct http1_relay, 1);

    relay->relay.ops = &ops;
    relay->context = context;
    relay->target = (struct http_target){ context->name, context->port };
    return &relay->relay;
}
