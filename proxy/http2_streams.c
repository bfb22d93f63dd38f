/* SPDX-License-Identifier: Apache-2.0
 *
 * http2_streams - see http2_streams.h.
 */
#include "proxy/http2_streams.h"

#include <string.h>

#include "proxy/http2_request.h"

static struct http2_end *end_of(struct http2_stream *stream,
                                enum http_side side)
{
    return &stream->relay->ends[side];
}

/* ---- records ------------------------------------------------------------- */

static void tell(struct http2_stream *stream, unsigned status,
                 const struct http2_refusal *refusal, const char *reason)
{
    const struct http_context *context = stream->relay->context;
    struct http_exchange exchange = {
        .method = stream->method,
        .path = stream->path,
        .status = status,
        .refused = refusal != NULL,
        .reason = refusal ? refusal->reason : reason,
        .allow = refusal ? refusal->allow : NULL,
    };

    /* Report a refusal even after a response. */
    if (stream->is_told && !refusal)
        return;
    stream->is_told = true;
    context->exchanged(&exchange, context->opaque);
}

/* The guest gets no response. */
static void tell_lost(struct http2_stream *stream)
{
    if (stream->was_sent && !stream->relay->is_sending)
        tell(stream, 0, NULL, "the stream ended without a response");
}

/* ---- bodies -------------------------------------------------------------- */

/* The bytes of a flow have left the relay: the window that they came through
 * opens. Those of an answer of the relay's own came through none. */
static void consume(struct http2_stream *stream, enum http_side to,
                    size_t length)
{
    enum http_side from = http2_other(to);

    if (length > 0 && !(stream->is_refused && to == HTTP_GUEST))
        nghttp2_session_consume(end_of(stream, from)->session,
                                stream->ids[from], length);
}

static void drop_trailers(struct http2_stream *stream, struct http2_flow *flow)
{
    stream->relay->held_trailers -= flow->trailers.size;
    http2_fields_clear(&flow->trailers);
}

/* The side gets no more of the stream. */
static void drop(struct http2_stream *stream, enum http_side to)
{
    struct http2_flow *flow = &stream->to[to];

    consume(stream, to, http2_body_clear(&flow->body));
    drop_trailers(stream, flow);
}

static void send_trailers(struct http2_stream *stream, struct http2_end *to)
{
    struct http2_flow *flow = &stream->to[to->side];
    size_t count = http2_fields_count(&flow->trailers);
    g_autofree nghttp2_nv *fields = http2_fields_array(&flow->trailers);

    if (nghttp2_submit_trailer(to->session, stream->ids[to->side], fields,
                               count) != 0)
        http2_streams_reset(stream, to->side, NGHTTP2_INTERNAL_ERROR);
    else
        to->queued_heads += flow->trailers.size;
    drop_trailers(stream, flow);
}

/* The body of a flow, for the session of the side that it goes to. */
static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *buf,
                         size_t length, uint32_t *flags,
                         nghttp2_data_source *source, void *user_data)
{
    struct http2_stream *stream = source->ptr;
    struct http2_end *to = user_data;
    struct http2_flow *flow = &stream->to[to->side];

    if (stream->is_reset[to->side])
        return NGHTTP2_ERR_DEFERRED;
    length = http2_body_take(&flow->body, buf, length);
    consume(stream, to->side, length);
    if (flow->body.length > 0)
        return (ssize_t)length;
    if (!flow->has_ended)
        return length > 0 ? (ssize_t)length : NGHTTP2_ERR_DEFERRED;
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (flow->has_trailers) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        send_trailers(stream, to);
    }
    return (ssize_t)length;
}

static void resume(struct http2_stream *stream, enum http_side to)
{
    if (stream->is_open[to])
        nghttp2_session_resume_data(end_of(stream, to)->session,
                                    stream->ids[to]);
}

static bool can_take(const struct http2_stream *stream, enum http_side from)
{
    enum http_side to = http2_other(from);

    return stream && stream->is_open[to] && !stream->is_reset[to] &&
           !stream->is_refused;
}

void http2_streams_take_data(struct http2_end *from,
                             struct http2_stream *stream, int32_t id,
                             const uint8_t *data, size_t length)
{
    enum http_side to = http2_other(from->side);

    if (!can_take(stream, from->side)) {
        nghttp2_session_consume(from->session, id, length);
        return;
    }
    http2_body_append(&stream->to[to].body, data, length);
    resume(stream, to);
}

/* ---- ends ---------------------------------------------------------------- */

void http2_streams_take_end(struct http2_stream *stream, enum http_side from)
{
    enum http_side to = http2_other(from);

    stream->to[to].has_ended = true;
    if (can_take(stream, from))
        resume(stream, to);
}

void http2_streams_reset(struct http2_stream *stream, enum http_side side,
                         uint32_t code)
{
    if (!stream->is_open[side] || stream->is_reset[side])
        return;
    stream->is_reset[side] = true;
    if (side == HTTP_GUEST)
        tell_lost(stream);
    nghttp2_submit_rst_stream(end_of(stream, side)->session, NGHTTP2_FLAG_NONE,
                              stream->ids[side], code);
    drop(stream, side);
}

void http2_streams_reset_both(struct http2_stream *stream, uint32_t code)
{
    http2_streams_reset(stream, HTTP_SERVER, code);
    http2_streams_reset(stream, HTTP_GUEST, code);
}

/* Once the guest has its whole response, and the server reads no more of the
 * request, the guest must not send it (RFC 9113, 8.1). */
static void stop_request(struct http2_stream *stream)
{
    if (stream->to[HTTP_GUEST].was_sent && !stream->is_open[HTTP_SERVER] &&
        !stream->to[HTTP_SERVER].has_ended)
        http2_streams_reset(stream, HTTP_GUEST, NGHTTP2_NO_ERROR);
}

void http2_streams_sent_end(struct http2_stream *stream, enum http_side to)
{
    stream->to[to].was_sent = true;
    stop_request(stream);
}

/* One side has closed its stream: end that of the other. A message that is
 * whole is still delivered, unless the guest wants no response. */
static void pass_close(struct http2_stream *stream, enum http_side side,
                       uint32_t code)
{
    enum http_side other = http2_other(side);
    bool is_whole = stream->to[other].has_ended;

    if (is_whole && (side == HTTP_SERVER || code == NGHTTP2_NO_ERROR)) {
        stop_request(stream);
        return;
    }
    if (!is_whole && code == NGHTTP2_NO_ERROR)
        code = NGHTTP2_CANCEL;
    http2_streams_reset(stream, other, code);
}

void http2_streams_close(struct http2_stream *stream, enum http_side side,
                         uint32_t code)
{
    struct http2_relay *relay = stream->relay;
    enum http_side other = http2_other(side);

    if (!stream->is_open[side])
        return;
    stream->is_open[side] = false;
    if (side == HTTP_GUEST)
        tell_lost(stream);
    nghttp2_session_set_stream_user_data(relay->ends[side].session,
                                         stream->ids[side], NULL);
    drop(stream, side);
    if (stream->is_open[other]) {
        pass_close(stream, side, code);
        return;
    }
    drop(stream, other);
    g_queue_unlink(&relay->streams, &stream->link);
    g_queue_push_tail_link(&relay->done, &stream->link);
}

/* ---- requests ------------------------------------------------------------ */

struct http2_stream *http2_streams_begin(struct http2_relay *relay, int32_t id)
{
    struct http2_stream *stream;

    if (relay->streams.length >= HTTP2_STREAMS_HELD) {
        nghttp2_submit_rst_stream(relay->ends[HTTP_GUEST].session,
                                  NGHTTP2_FLAG_NONE, id,
                                  NGHTTP2_REFUSED_STREAM);
        return NULL;
    }
    stream = g_new0(struct http2_stream, 1);
    stream->relay = relay;
    stream->link.data = stream;
    stream->ids[HTTP_GUEST] = id;
    stream->is_open[HTTP_GUEST] = true;
    g_queue_push_tail_link(&relay->streams, &stream->link);
    return stream;
}

/* Answer on the stream alone. */
static void answer(struct http2_stream *stream,
                   const struct http2_refusal *refusal)
{
    struct http2_end *guest = end_of(stream, HTTP_GUEST);
    struct http2_flow *flow = &stream->to[HTTP_GUEST];
    nghttp2_data_provider body = { { .ptr = stream }, read_body };
    g_autofree char *text = http2_refusal_text(stream->relay->context, refusal);
    bool is_head = strcmp(stream->method, "HEAD") == 0;
    char status[8], length[16];
    const nghttp2_nv fields[] = {
        { (uint8_t *)":status", (uint8_t *)status, 7, 3, 0 },
        { (uint8_t *)"content-type", (uint8_t *)"text/plain; charset=utf-8", 12,
          25, 0 },
        { (uint8_t *)"content-length", (uint8_t *)length, 14,
          (size_t)g_snprintf(length, sizeof(length), "%zu", strlen(text)), 0 },
    };

    g_snprintf(status, sizeof(status), "%u", refusal->status);
    if (!is_head)
        http2_body_append(&flow->body, text, strlen(text));
    flow->has_ended = true;
    if (nghttp2_submit_response(guest->session, stream->ids[HTTP_GUEST], fields,
                                G_N_ELEMENTS(fields),
                                is_head ? NULL : &body) != 0)
        http2_streams_reset(stream, HTTP_GUEST, NGHTTP2_INTERNAL_ERROR);
    else
        guest->queued_heads += http2_fields_size(fields, G_N_ELEMENTS(fields));
}

static void refuse(struct http2_stream *stream,
                   const struct http2_refusal *refusal)
{
    stream->is_refused = true;
    answer(stream, refusal);
    tell(stream, 0, refusal, NULL);
}

/* Return whether the request could be given to the server's session. */
static bool submit_request(struct http2_stream *stream,
                           const struct http2_fields *head, bool is_last)
{
    struct http2_end *server = end_of(stream, HTTP_SERVER);
    nghttp2_data_provider body = { { .ptr = stream }, read_body };
    g_autofree nghttp2_nv *fields = http2_fields_array(head);
    int32_t id;

    if (server->has_ended ||
        head->size > HTTP2_HEADS - MIN(HTTP2_HEADS, server->queued_heads))
        return false;
    id = nghttp2_submit_request(server->session, NULL, fields,
                                http2_fields_count(head),
                                is_last ? NULL : &body, stream);
    if (id < 0)
        return false;
    server->queued_heads += head->size;
    stream->ids[HTTP_SERVER] = id;
    stream->is_open[HTTP_SERVER] = true;
    return true;
}

void http2_streams_take_request(struct http2_stream *stream, bool is_last)
{
    struct http2_fields *incoming = &end_of(stream, HTTP_GUEST)->incoming;
    struct http2_fields head = { 0 };
    struct http2_refusal refusal = { 0 };

    stream->method = http2_request_method(incoming);
    stream->path = http2_request_path(incoming);
    http2_request_get_overrides(incoming, &stream->override);
    stream->to[HTTP_SERVER].has_ended = is_last;
    if (!http2_request_judge(stream->relay->context, incoming, &head, &refusal))
        refuse(stream, &refusal);
    else if (!submit_request(stream, &head, is_last))
        http2_streams_reset(stream, HTTP_GUEST, NGHTTP2_REFUSED_STREAM);
    http2_refusal_clear(&refusal);
    http2_fields_clear(&head);
    http2_fields_clear(incoming);
}

/* ---- responses and trailers ---------------------------------------------- */

static void submit_response(struct http2_stream *stream,
                            const struct http2_fields *head, bool is_interim,
                            bool is_last)
{
    struct http2_end *guest = end_of(stream, HTTP_GUEST);
    nghttp2_data_provider body = { { .ptr = stream }, read_body };
    g_autofree nghttp2_nv *fields = http2_fields_array(head);
    size_t count = http2_fields_count(head);
    int32_t id = stream->ids[HTTP_GUEST], result;

    if (is_interim)
        result = nghttp2_submit_headers(guest->session, NGHTTP2_FLAG_NONE, id,
                                        NULL, fields, count, NULL);
    else
        result = nghttp2_submit_response(guest->session, id, fields, count,
                                         is_last ? NULL : &body);
    if (result != 0)
        http2_streams_reset_both(stream, NGHTTP2_INTERNAL_ERROR);
    else
        guest->queued_heads += head->size;
}

/* Return the status of a response; 0: it is none (nghttp2 takes "000"). */
static unsigned status_of(const struct http2_fields *head)
{
    const char *text = "";
    size_t len;
    unsigned status;

    http2_fields_find(head, ":status", &text, &len);
    status = (unsigned)g_ascii_strtoull(text, NULL, 10);
    return status >= 100 ? status : 0;
}

static void pass_response(struct http2_stream *stream,
                          const struct http2_fields *head, unsigned status,
                          bool is_last)
{
    if (!can_take(stream, HTTP_SERVER))
        return; /* the guest has closed the stream */
    if (status == 0)
        http2_streams_reset_both(stream, NGHTTP2_PROTOCOL_ERROR);
    else if (end_of(stream, HTTP_SERVER)->incoming.is_too_long ||
             head->is_too_long)
        http2_streams_reset_both(stream, NGHTTP2_ENHANCE_YOUR_CALM);
    else
        submit_response(stream, head, status < 200, is_last);
}

void http2_streams_take_response(struct http2_stream *stream, bool is_last)
{
    struct http2_fields *incoming = &end_of(stream, HTTP_SERVER)->incoming;
    struct http2_fields head = { 0 };
    unsigned status = status_of(incoming);

    http2_response_copy(stream->relay->context, incoming, &head);
    if (status >= 200)
        tell(stream, status, NULL, NULL);
    pass_response(stream, &head, status, is_last);
    http2_fields_clear(&head);
    http2_fields_clear(incoming);
}

/* Return whether the policy and the secrets let trailers of the guest pass, and
 * tell it if not: also of those that the server does not get any more. */
static bool judge_trailers(struct http2_stream *stream)
{
    struct http2_end *guest = end_of(stream, HTTP_GUEST);
    struct http2_refusal refusal = { 0 };

    if (stream->is_refused ||
        http2_request_judge_trailers(stream->relay->context, &guest->incoming,
                                     &refusal))
        return true;
    tell(stream, 0, &refusal, NULL);
    return false;
}

/* Return whether there is room for the trailers, and set flow->trailers. */
static bool copy_trailers(struct http2_stream *stream, enum http_side from,
                          struct http2_flow *flow)
{
    struct http2_relay *relay = stream->relay;
    struct http2_fields *incoming = &end_of(stream, from)->incoming;

    http2_response_copy(from == HTTP_SERVER ? relay->context : NULL, incoming,
                        &flow->trailers);
    relay->held_trailers += flow->trailers.size;
    return !incoming->is_too_long && !flow->trailers.is_too_long &&
           relay->held_trailers <= HTTP2_TRAILERS;
}

void http2_streams_take_trailers(struct http2_stream *stream,
                                 enum http_side from)
{
    struct http2_flow *flow = &stream->to[http2_other(from)];

    if (from == HTTP_GUEST && !judge_trailers(stream)) {
        http2_streams_reset_both(stream, NGHTTP2_ENHANCE_YOUR_CALM);
    } else if (can_take(stream, from)) {
        flow->has_trailers = true;
        if (!copy_trailers(stream, from, flow))
            http2_streams_reset_both(stream, NGHTTP2_ENHANCE_YOUR_CALM);
    }
    http2_fields_clear(&end_of(stream, from)->incoming);
}

/* ---- lives --------------------------------------------------------------- */

static void stream_free(struct http2_stream *stream)
{
    for (int side = 0; side < 2; side++) {
        http2_fields_clear(&stream->to[side].trailers);
        http2_body_clear(&stream->to[side].body);
    }
    g_free(stream->method);
    g_free(stream->path);
    http_override_clear(&stream->override);
    g_free(stream);
}

static void tell_and_free(GQueue *streams)
{
    GList *link;

    while ((link = g_queue_pop_head_link(streams))) {
        struct http2_stream *stream = link->data;

        tell_lost(stream);
        stream_free(stream);
    }
}

void http2_streams_settle(struct http2_relay *relay)
{
    tell_and_free(&relay->done);
}

void http2_streams_free(struct http2_relay *relay)
{
    tell_and_free(&relay->done);
    tell_and_free(&relay->streams);
}
