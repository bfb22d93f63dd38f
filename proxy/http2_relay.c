/* SPDX-License-Identifier: Apache-2.0
 *
 * http2_relay - see http2_relay.h.
 */
#include "proxy/http2_relay.h"

#include <glib.h>

#include "common/wiped.h"
#include "proxy/http2_session.h"
#include "proxy/http2_streams.h"

/* For the output and a frame more. */
enum { OUTPUT_ROOM = 2 * HTTP2_OUTPUT + 16 };

static struct http2_relay *of(const struct http_relay *relay)
{
    return (struct http2_relay *)relay;
}

static struct http2_end *other_end(struct http2_end *end)
{
    return &end->relay->ends[http2_other(end->side)];
}

/* ---- output -------------------------------------------------------------- */

/* After a side's end and the last stream, end what is left. */
static void stop_idle(struct http2_relay *relay)
{
    if (relay->streams.length > 0 || relay->problem ||
        (!relay->ends[HTTP_GUEST].has_ended &&
         !relay->ends[HTTP_SERVER].has_ended))
        return;
    http2_session_stop(&relay->ends[HTTP_GUEST], NGHTTP2_NO_ERROR);
    http2_session_stop(&relay->ends[HTTP_SERVER], NGHTTP2_NO_ERROR);
}

static ssize_t next_frame(struct http2_end *end, const uint8_t **ret_data)
{
    ssize_t length = nghttp2_session_mem_send(end->session, ret_data);

    if (length < 0)
        http2_session_fail(end, NGHTTP2_INTERNAL_ERROR);
    stop_idle(end->relay);
    return length;
}

/* Let the session fill the output, if all of the last one was written: output()
 * promises that the bytes stay where they are. */
static void fill(struct http2_end *end)
{
    const uint8_t *data;
    ssize_t length;

    if (end->output ||
        (end->side == HTTP_SERVER && end->has_ended)) /* nothing reads it */
        return;
    end->output = g_string_sized_new(OUTPUT_ROOM);
    while (end->output->len < HTTP2_OUTPUT &&
           (length = next_frame(end, &data)) > 0)
        wiped_append(end->output, (const char *)data, (size_t)length);
    end->written = 0;
    if (end->output->len == 0)
        g_clear_pointer(&end->output, wiped_free);
}

static const uint8_t *relay_output(struct http_relay *relay, enum http_side to,
                                   size_t *ret_length)
{
    struct http2_end *end = &of(relay)->ends[to];

    end->relay->is_sending = true;
    fill(end);
    end->relay->is_sending = false;
    *ret_length = end->output ? end->output->len - end->written : 0;
    return end->output ? (uint8_t *)end->output->str + end->written : NULL;
}

static void relay_written(struct http_relay *relay, enum http_side to,
                          size_t length)
{
    struct http2_end *end = &of(relay)->ends[to];

    if (!end->output)
        return;
    end->written += length;
    if (end->written >= end->output->len)
        g_clear_pointer(&end->output, wiped_free);
}

/* ---- input --------------------------------------------------------------- */

/* Return whether there is room for all output that a frame of the side can
 * cause. Requests wait for the server's limit of streams, so they are refused
 * instead if there are too many (http2_streams.c): the frames behind them may
 * be what the server waits for. */
static bool has_room(struct http2_end *from)
{
    struct http2_end *to = other_end(from);

    return nghttp2_session_get_outbound_queue_size(from->session) <
               HTTP2_FRAMES &&
           nghttp2_session_get_outbound_queue_size(to->session) <
               HTTP2_FRAMES &&
           (from->side == HTTP_GUEST || to->queued_heads < HTTP2_HEADS);
}

static uint32_t code_of(ssize_t error)
{
    return error == NGHTTP2_ERR_FLOODED            ? NGHTTP2_ENHANCE_YOUR_CALM
           : error == NGHTTP2_ERR_BAD_CLIENT_MAGIC ? NGHTTP2_PROTOCOL_ERROR
                                                   : NGHTTP2_INTERNAL_ERROR;
}

static size_t take_frames(struct http2_end *from, const uint8_t *data,
                          size_t length)
{
    int64_t now = g_get_monotonic_time();
    size_t used = 0;

    while (used < length && !from->relay->problem &&
           (!http2_frames_is_between(&from->frames) || has_room(from))) {
        size_t part = http2_frames_next(&from->frames, data + used,
                                        length - used, now);
        ssize_t result = nghttp2_session_mem_recv(from->session, data + used,
                                                  part);

        used += part;
        if (from->frames.is_flooded)
            http2_session_fail(from, NGHTTP2_ENHANCE_YOUR_CALM);
        else if (result < 0)
            http2_session_fail(from, code_of(result));
    }
    return used;
}

static ssize_t relay_take(struct http_relay *base, enum http_side side,
                          const uint8_t *data, size_t length)
{
    struct http2_relay *relay = of(base);
    struct http2_end *from = &relay->ends[side];
    size_t used;

    if (relay->problem || from->has_ended)
        return -1;
    used = take_frames(from, data, length);
    /* A GOAWAY of nghttp2's own shows here. */
    fill(from);
    http2_streams_settle(relay);
    return relay->problem ? -1 : (ssize_t)used;
}

/* The requests that the guest has not sent whole never will be; the others
 * still get their responses. */
static void end_guest(struct http2_stream *stream)
{
    if (!stream->to[HTTP_SERVER].has_ended)
        http2_streams_reset_both(stream, NGHTTP2_CANCEL);
}

static void relay_end(struct http_relay *base, enum http_side from)
{
    struct http2_relay *relay = of(base);
    GList *next;

    if (relay->ends[from].has_ended)
        return;
    relay->ends[from].has_ended = true;
    for (GList *link = relay->streams.head; link; link = next) {
        next = link->next;
        if (from == HTTP_GUEST)
            end_guest(link->data);
        else
            http2_streams_close(link->data, HTTP_SERVER,
                                NGHTTP2_INTERNAL_ERROR);
    }
    if (from == HTTP_SERVER && !relay->problem)
        http2_session_stop(&relay->ends[HTTP_GUEST], NGHTTP2_NO_ERROR);
    stop_idle(relay);
    http2_streams_settle(relay);
}

static bool relay_wants(const struct http_relay *base, enum http_side side)
{
    struct http2_relay *relay = of(base);
    struct http2_end *from = &relay->ends[side];

    return !relay->problem && !from->has_ended &&
           (!http2_frames_is_between(&from->frames) || has_room(from));
}

static bool relay_is_over(const struct http_relay *base, enum http_side to)
{
    struct http2_end *end = &of(base)->ends[to];

    if (end->output)
        return false;
    if (to == HTTP_SERVER && end->has_ended)
        return true;
    return !nghttp2_session_want_write(end->session) &&
           (!nghttp2_session_want_read(end->session) ||
            (end->has_goaway && end->relay->streams.length == 0));
}

/* ---- lives --------------------------------------------------------------- */

static const char *relay_problem(const struct http_relay *relay)
{
    return of(relay)->problem;
}

static void relay_free(struct http_relay *base)
{
    struct http2_relay *relay = of(base);

    for (int side = 0; side < 2; side++) {
        nghttp2_session_del(relay->ends[side].session);
        http2_fields_clear(&relay->ends[side].incoming);
        g_clear_pointer(&relay->ends[side].output, wiped_free);
    }
    http2_streams_free(relay);
    g_free(relay->problem);
    g_free(relay);
}

static bool relay_is_allowed(const struct http_relay *base)
{
    const struct http2_relay *relay = (const struct http2_relay *)base;
    const struct http_context *context = relay->context;

    for (const GList *at = relay->streams.head; at; at = at->next) {
        const struct http2_stream *stream = at->data;
        g_autofree char *allow = NULL;

        if (stream->method && stream->path && !stream->is_refused &&
            !http_override_judge(&stream->override, context->policy,
                                 context->name, context->port, stream->method,
                                 stream->path, &allow, NULL))
            return false;
    }
    return true;
}

static unsigned relay_begun_head(const struct http_relay *base)
{
    struct http2_relay *relay = of(base);
    struct http2_end *guest = &relay->ends[HTTP_GUEST];

    return guest->frames.in_head && relay_wants(base, HTTP_GUEST)
               ? guest->frames.heads
               : 0;
}

static const struct http_relay_ops ops = {
    .free = relay_free,
    .take = relay_take,
    .end = relay_end,
    .output = relay_output,
    .written = relay_written,
    .wants = relay_wants,
    .is_over = relay_is_over,
    .is_allowed = relay_is_allowed,
    .begun_head = relay_begun_head,
    .problem = relay_problem,
};

struct http_relay *http2_relay_new(const struct http_context *context)
{
    struct http2_relay *relay = g_new0(struct http2_relay, 1);

    relay->base.ops = &ops;
    relay->context = context;
    relay->streams_allowed = relay->streams_possible = HTTP2_STREAMS;
    relay->settings_sent = 1; /* http2_session_open() */
    for (int side = 0; side < 2; side++) {
        relay->ends[side].relay = relay;
        relay->ends[side].side = side;
        http2_session_open(&relay->ends[side]);
    }
    relay->ends[HTTP_GUEST].frames.left = HTTP2_MAGIC;
    return &relay->base;
}
