/* SPDX-License-Identifier: Apache-2.0
 *
 * pass_relay - relays for tests of what is around them: bytes pass unchanged,
 * whatever they are.
 *
 * Each time that the guest's bytes begin with "GET /PATH ", an exchange is
 * reported; "GET /refused " ends the connection with an answer.
 */
#include <glib.h>
#include <string.h>

#include "proxy/relays.h"

/* Not a number of whole records, so that a part of one must wait. */
enum { ROOM = 20000 };

struct pass_relay {
    struct http_relay relay;
    const struct http_context *context;
    struct side {
        uint8_t data[ROOM]; /* to be written to it */
        size_t length;
        bool ended;
    } sides[2];
    bool failed;
};

static struct pass_relay *pass(const struct http_relay *relay)
{
    return (struct pass_relay *)(uintptr_t)relay;
}

static struct side *other(struct pass_relay *relay, enum http_side side)
{
    return &relay->sides[side == HTTP_GUEST ? HTTP_SERVER : HTTP_GUEST];
}

static void free_relay(struct http_relay *relay)
{
    g_free(relay);
}

static void report(struct pass_relay *relay, const uint8_t *data, size_t length)
{
    struct http_exchange exchange = { .method = "GET", .status = 200 };
    g_autofree char *text = g_strndup((const char *)data, MIN(length, 100));
    char *end = strchr(text + MIN(strlen(text), 4), ' ');

    if (!g_str_has_prefix(text, "GET /") || !end)
        return;
    *end = '\0';
    exchange.path = text + 4;
    if (strcmp(exchange.path, "/refused") == 0) {
        relay->failed = exchange.refused = true;
        exchange.status = 0;
        exchange.reason = "refused in a test";
        exchange.allow = "GET:allowed.example/";
    }
    relay->context->exchanged(&exchange, relay->context->opaque);
}

static ssize_t take(struct http_relay *base, enum http_side from,
                    const uint8_t *data, size_t length)
{
    static const char answer[] = "HTTP/1.1 403 Forbidden\r\n"
                                 "Content-Length: 0\r\n\r\n";
    struct pass_relay *relay = pass(base);
    struct side *to = other(relay, from);
    size_t n = MIN(length, ROOM - to->length);

    if (from == HTTP_GUEST && !relay->failed)
        report(relay, data, length);
    if (relay->failed) {
        to = &relay->sides[HTTP_GUEST];
        to->length = sizeof(answer) - 1;
        memcpy(to->data, answer, to->length);
        return -1;
    }
    memcpy(to->data + to->length, data, n);
    to->length += n;
    return (ssize_t)n;
}

static void end(struct http_relay *relay, enum http_side from)
{
    pass(relay)->sides[from].ended = true;
}

static const uint8_t *output(struct http_relay *relay, enum http_side to,
                             size_t *ret_length)
{
    *ret_length = pass(relay)->sides[to].length;
    return pass(relay)->sides[to].data;
}

static void written(struct http_relay *relay, enum http_side to, size_t length)
{
    struct side *side = &pass(relay)->sides[to];

    g_assert_cmpuint(length, <=, side->length);
    side->length -= length;
    memmove(side->data, side->data + length, side->length);
}

static bool wants(const struct http_relay *relay, enum http_side from)
{
    return other(pass(relay), from)->length < ROOM;
}

static bool is_over(const struct http_relay *relay, enum http_side to)
{
    return other(pass(relay), to)->ended && pass(relay)->sides[to].length == 0;
}

static const char *problem(const struct http_relay *relay)
{
    return pass(relay)->failed ? "refused in a test" : NULL;
}

static bool is_allowed(const struct http_relay *relay)
{
    return true;
}

static unsigned begun_head(const struct http_relay *relay)
{
    return 0;
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

static struct http_relay *new_relay(const struct http_context *context)
{
    struct pass_relay *relay = g_new0(struct pass_relay, 1);

    relay->relay.ops = &ops;
    relay->context = context;
    return &relay->relay;
}

const struct relay_kinds relay_kinds = {
    .http1 = new_relay,
    .http2 = new_relay,
};
