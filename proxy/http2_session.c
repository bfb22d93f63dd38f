/* SPDX-License-Identifier: Apache-2.0
 *
 * http2_session - see http2_session.h.
 */
#include "proxy/http2_session.h"

#include <stdlib.h>

#include "common/wiped.h"
#include "proxy/http2_streams.h"

static struct http2_end *other_end(const struct http2_end *end)
{
    return &end->relay->ends[http2_other(end->side)];
}

static bool is_last(const nghttp2_frame *frame)
{
    return frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
}

/* ---- the connection's end ------------------------------------------------ */

void http2_session_fail(struct http2_end *end, uint32_t code)
{
    struct http2_relay *relay = end->relay;

    if (relay->problem)
        return;
    relay->problem = g_strdup_printf("the %s broke HTTP/2 (%s)",
                                     end->side == HTTP_GUEST ? "guest"
                                                             : "server",
                                     nghttp2_http2_strerror(code));
    nghttp2_session_terminate_session(end->session, code);
    nghttp2_session_terminate_session(
        other_end(end)->session,
        end->side == HTTP_GUEST ? NGHTTP2_NO_ERROR : NGHTTP2_INTERNAL_ERROR);
}

void http2_session_stop(struct http2_end *end, uint32_t code)
{
    int32_t last = end->side == HTTP_GUEST
                       ? nghttp2_session_get_last_proc_stream_id(end->session)
                       : 0;

    if (end->has_goaway)
        return;
    end->has_goaway = true;
    end->goaway_code = code;
    nghttp2_submit_goaway(end->session, NGHTTP2_FLAG_NONE, last, code, NULL, 0);
}

/* ---- frames received ----------------------------------------------------- */

/* The guest may open as many streams as the server allows. Of a server that
 * changes its mind quickly the guest gets the newest limit, when it has
 * acknowledged the last one. */
static void tell_limit(struct http2_relay *relay)
{
    nghttp2_settings_entry entry = { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
                                     relay->streams_possible };

    if (relay->streams_possible == relay->streams_allowed ||
        relay->settings_sent > 0)
        return;
    if (nghttp2_submit_settings(relay->ends[HTTP_GUEST].session,
                                NGHTTP2_FLAG_NONE, &entry, 1) != 0)
        return;
    relay->streams_allowed = relay->streams_possible;
    relay->settings_sent++;
}

static void take_settings(struct http2_end *from, bool is_ack)
{
    struct http2_relay *relay = from->relay;

    if (from->side == HTTP_SERVER && !is_ack) {
        uint32_t limit = nghttp2_session_get_remote_settings(
            from->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);

        relay->streams_possible = MIN(limit, HTTP2_STREAMS);
    } else if (from->side == HTTP_GUEST && is_ack && relay->settings_sent > 0) {
        relay->settings_sent--;
    }
    tell_limit(relay);
}

static void take_headers(struct http2_end *from, struct http2_stream *stream,
                         const nghttp2_frame *frame)
{
    const char *status;
    size_t len;

    if (frame->headers.cat == NGHTTP2_HCAT_REQUEST)
        http2_streams_take_request(stream, is_last(frame));
    else if (from->side == HTTP_SERVER &&
             http2_fields_find(&from->incoming, ":status", &status, &len))
        http2_streams_take_response(stream, is_last(frame));
    else
        http2_streams_take_trailers(stream, from->side);
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame,
                         void *user_data)
{
    struct http2_end *from = user_data;
    struct http2_stream *stream = nghttp2_session_get_stream_user_data(
        session, frame->hd.stream_id);

    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
        if (stream)
            take_headers(from, stream, frame);
        /* fall through */
    case NGHTTP2_DATA:
        if (stream && is_last(frame))
            http2_streams_take_end(stream, from->side);
        break;
    case NGHTTP2_SETTINGS:
        take_settings(from, frame->hd.flags & NGHTTP2_FLAG_ACK);
        break;
    case NGHTTP2_GOAWAY:
        http2_session_stop(other_end(from), frame->goaway.error_code);
        break;
    default:
        break;
    }
    return 0;
}

static int on_begin_headers(nghttp2_session *session,
                            const nghttp2_frame *frame, void *user_data)
{
    struct http2_end *from = user_data;

    http2_fields_clear(&from->incoming); /* of a list that was invalid */
    if (frame->headers.cat == NGHTTP2_HCAT_REQUEST)
        nghttp2_session_set_stream_user_data(
            session, frame->hd.stream_id,
            http2_streams_begin(from->relay, frame->hd.stream_id));
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame,
                     const uint8_t *name, size_t name_len, const uint8_t *value,
                     size_t value_len, uint8_t flags, void *user_data)
{
    struct http2_end *from = user_data;

    http2_fields_add(&from->incoming, (const char *)name, name_len,
                     (const char *)value, value_len, flags);
    return 0;
}

/* nghttp2 would leave the field out. */
static int on_invalid_header(nghttp2_session *session,
                             const nghttp2_frame *frame, const uint8_t *name,
                             size_t name_len, const uint8_t *value,
                             size_t value_len, uint8_t flags, void *user_data)
{
    struct http2_stream *stream = nghttp2_session_get_stream_user_data(
        session, frame->hd.stream_id);

    if (stream)
        http2_streams_reset_both(stream, NGHTTP2_PROTOCOL_ERROR);
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int on_data_chunk_recv(nghttp2_session *session, uint8_t flags,
                              int32_t id, const uint8_t *data, size_t length,
                              void *user_data)
{
    http2_streams_take_data(user_data,
                            nghttp2_session_get_stream_user_data(session, id),
                            id, data, length);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code,
                           void *user_data)
{
    struct http2_stream *stream = nghttp2_session_get_stream_user_data(session,
                                                                       id);
    struct http2_end *end = user_data;

    if (stream)
        http2_streams_close(stream, end->side, code);
    return 0;
}

/* ---- frames sent --------------------------------------------------------- */

static void forget_head(struct http2_end *to, const nghttp2_frame *frame)
{
    to->queued_heads -= http2_fields_size(frame->headers.nva,
                                          frame->headers.nvlen);
}

/* nghttp2 sends one of its own if the side breaks the protocol. */
static void sent_goaway(struct http2_end *to, uint32_t code)
{
    if (code != NGHTTP2_NO_ERROR &&
        !(to->has_goaway && code == to->goaway_code))
        http2_session_fail(to, code);
}

static int on_frame_send(nghttp2_session *session, const nghttp2_frame *frame,
                         void *user_data)
{
    struct http2_end *to = user_data;
    struct http2_stream *stream = nghttp2_session_get_stream_user_data(
        session, frame->hd.stream_id);

    if (frame->hd.type == NGHTTP2_HEADERS) {
        forget_head(to, frame);
        if (stream && to->side == HTTP_SERVER)
            stream->was_sent = true;
    }
    if (stream && is_last(frame) &&
        (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA))
        http2_streams_sent_end(stream, to->side);
    if (frame->hd.type == NGHTTP2_GOAWAY)
        sent_goaway(to, frame->goaway.error_code);
    return 0;
}

/* A request that the server cannot have any more: the guest may repeat it. */
static int on_frame_not_send(nghttp2_session *session,
                             const nghttp2_frame *frame, int error,
                             void *user_data)
{
    struct http2_end *to = user_data;
    struct http2_stream *stream;

    if (frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    forget_head(to, frame);
    stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (stream && to->side == HTTP_SERVER && !stream->was_sent)
        http2_streams_reset(stream, HTTP_GUEST, NGHTTP2_REFUSED_STREAM);
    return 0;
}

/* ---- sessions ------------------------------------------------------------ */

static nghttp2_session_callbacks *make_callbacks(void)
{
    nghttp2_session_callbacks *all;

    if (nghttp2_session_callbacks_new(&all) != 0)
        g_error("out of memory");
    nghttp2_session_callbacks_set_on_frame_recv_callback(all, on_frame_recv);
    nghttp2_session_callbacks_set_on_begin_headers_callback(all,
                                                            on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(all, on_header);
    nghttp2_session_callbacks_set_on_invalid_header_callback(all,
                                                             on_invalid_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        all, on_data_chunk_recv);
    nghttp2_session_callbacks_set_on_stream_close_callback(all,
                                                           on_stream_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(all, on_frame_send);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(all,
                                                             on_frame_not_send);
    return all;
}

/* A head can be a little longer than the list that it holds, in the worst
 * case. */
static nghttp2_option *make_options(void)
{
    nghttp2_option *option;

    if (nghttp2_option_new(&option) != 0)
        g_error("out of memory");
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_max_outbound_ack(option, HTTP2_ACKS);
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_option_set_max_send_header_block_length(option,
                                                    2 * HTTP2_FIELDS_MAX);
    return option;
}

static void submit_settings(struct http2_end *end)
{
    const nghttp2_settings_entry entries[] = {
        { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, HTTP2_WINDOW },
        { NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HTTP2_FIELDS_MAX },
        end->side == HTTP_GUEST
            ? (nghttp2_settings_entry){ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
                                        HTTP2_STREAMS }
            : (nghttp2_settings_entry){ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
        { NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1 },
    };

    nghttp2_submit_settings(end->session, NGHTTP2_FLAG_NONE, entries,
                            G_N_ELEMENTS(entries));
    nghttp2_session_set_local_window_size(end->session, NGHTTP2_FLAG_NONE, 0,
                                          HTTP2_WINDOWS);
}

static void *allocate(size_t size, void *opaque)
{
    return malloc(size);
}

static void *allocate_zeros(size_t count, size_t size, void *opaque)
{
    return calloc(count, size);
}

static void *reallocate(void *memory, size_t size, void *opaque)
{
    return wiped_reallocate(memory, size);
}

static void release(void *memory, void *opaque)
{
    wiped_free_memory(memory);
}

void http2_session_open(struct http2_end *end)
{
    nghttp2_mem memory = { NULL, allocate, release, allocate_zeros,
                           reallocate };
    nghttp2_session_callbacks *callbacks = make_callbacks();
    nghttp2_option *option = make_options();
    int (*make)(nghttp2_session * *session,
                const nghttp2_session_callbacks *callbacks, void *user_data,
                const nghttp2_option *option,
                nghttp2_mem *mem) = end->side == HTTP_GUEST
                                        ? nghttp2_session_server_new3
                                        : nghttp2_session_client_new3;

    if (make(&end->session, callbacks, end, option, &memory) != 0)
        g_error("out of memory");
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    submit_settings(end);
}
