/* SPDX-License-Identifier: Apache-2.0
 *
 * http2_peers - see http2_peers.h.
 */
#include "tests/proxy/http2_peers.h"

#include <jansson.h>
#include <string.h>

#include "proxy/http2_relay.h"

/* ---- streams of a peer --------------------------------------------------- */

static struct peer_stream *find(struct peer *peer, int32_t id)
{
    for (guint i = 0; i < peer->streams->len; i++) {
        struct peer_stream *stream = g_ptr_array_index(peer->streams, i);

        if (stream->id == id)
            return stream;
    }
    return NULL;
}

static struct peer_stream *add(struct peer *peer, int32_t id)
{
    struct peer_stream *stream = g_new0(struct peer_stream, 1);

    stream->id = id;
    stream->head = g_string_new(NULL);
    stream->interim = g_string_new(NULL);
    stream->trailers = g_string_new(NULL);
    stream->body = g_string_new(NULL);
    stream->pending = g_string_new(NULL);
    g_ptr_array_add(peer->streams, stream);
    return stream;
}

static void stream_free(void *opaque)
{
    struct peer_stream *stream = opaque;

    g_string_free(stream->head, TRUE);
    g_string_free(stream->interim, TRUE);
    g_string_free(stream->trailers, TRUE);
    g_string_free(stream->body, TRUE);
    g_string_free(stream->pending, TRUE);
    g_free(stream);
}

/* ---- callbacks ----------------------------------------------------------- */

static int on_header(nghttp2_session *session, const nghttp2_frame *frame,
                     const uint8_t *name, size_t name_len, const uint8_t *value,
                     size_t value_len, uint8_t flags, void *user_data)
{
    struct peer *peer = user_data;
    struct peer_stream *stream = find(peer, frame->hd.stream_id);
    GString *list;

    if (!stream)
        stream = add(peer, frame->hd.stream_id);
    list = stream->has_head ? stream->trailers : stream->head;
    g_string_append_printf(list, "%s: %s\n", name, value);
    stream->secrets += (flags & NGHTTP2_NV_FLAG_NO_INDEX) != 0;
    return 0;
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame,
                         void *user_data)
{
    struct peer *peer = user_data;
    struct peer_stream *stream = find(peer, frame->hd.stream_id);

    if (frame->hd.type == NGHTTP2_GOAWAY) {
        peer->goaways++;
        peer->goaway_code = frame->goaway.error_code;
        peer->goaway_last = frame->goaway.last_stream_id;
    }
    if (!stream)
        return 0;
    if (frame->hd.type == NGHTTP2_HEADERS && !stream->has_head) {
        if (g_str_has_prefix(stream->head->str, ":status: 1")) {
            g_string_append(stream->interim, stream->head->str);
            g_string_truncate(stream->head, 0);
        } else {
            stream->has_head = true;
        }
    }
    if (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA)
        stream->is_whole |= frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id,
                   const uint8_t *data, size_t length, void *user_data)
{
    struct peer_stream *stream = find(user_data, id);

    g_string_append_len(stream->body, (const char *)data, (gssize)length);
    stream->chunks++;
    if (stream->is_slow)
        nghttp2_session_consume_connection(session, length);
    else
        nghttp2_session_consume(session, id, length);
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t code,
                    void *user_data)
{
    struct peer_stream *stream = find(user_data, id);

    if (stream) {
        stream->is_closed = true;
        stream->code = code;
    }
    return 0;
}

static nghttp2_session *make_session(struct peer *peer)
{
    nghttp2_session_callbacks *all;
    nghttp2_session *session;
    nghttp2_option *option;

    nghttp2_session_callbacks_new(&all);
    nghttp2_session_callbacks_set_on_header_callback(all, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(all, on_frame_recv);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(all, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(all, on_close);
    nghttp2_option_new(&option);
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_max_send_header_block_length(option, 1 << 20);
    if (peer->side == HTTP_GUEST)
        nghttp2_session_client_new2(&session, all, peer, option);
    else
        nghttp2_session_server_new2(&session, all, peer, option);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(all);
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, NULL, 0);
    return session;
}

/* ---- the world ----------------------------------------------------------- */

static void exchanged(const struct http_exchange *exchange, void *opaque)
{
    struct world *world = opaque;

    g_assert_false(world->is_writing);
    g_assert_true(exchange->status != 0 || exchange->reason);
    g_string_append_printf(world->told, "%s %s %u", exchange->method,
                           exchange->path, exchange->status);
    if (exchange->refused)
        g_string_append_printf(world->told, " refused: %s", exchange->reason);
    if (exchange->allow)
        g_string_append_printf(world->told, "; allow %s", exchange->allow);
    g_string_append_c(world->told, '\n');
}

static struct secrets *make_secrets(void)
{
    struct secrets *secrets = secrets_new();
    json_t *list = json_pack("[{s:s,s:s,s:s,s:[s],s:[s,s]}]", "name", "TOKEN",
                             "placeholder", PLACEHOLDER, "value", SECRET,
                             "hosts", NAME, "headers", "authorization",
                             "x-api-key");
    g_autoptr(GError) error = NULL;

    secrets_configure(secrets, list, &error);
    g_assert_no_error(error);
    json_decref(list);
    return secrets;
}

void world_set_policy(struct world *world, const char *first,
                      const char *second)
{
    json_t *json = json_pack("{s:[s,s]}", "allow", first, second);
    g_autoptr(GError) error = NULL;

    network_policy_parse(json, &world->policy, &error);
    g_assert_no_error(error);
    json_decref(json);
}

struct world *world_new(void)
{
    struct world *world = g_new0(struct world, 1);

    world->told = g_string_new(NULL);
    world->step = 1 << 20;
    world->context = (struct http_context){
        NAME, 443, true, &world->policy, make_secrets(), exchanged, world
    };
    world_set_policy(world, "intercept:" NAME, "deny:" NAME "/private");
    world->relay = http2_relay_new(&world->context);
    for (int side = 0; side < 2; side++) {
        struct peer *peer = &world->peers[side];

        peer->side = side;
        peer->streams = g_ptr_array_new_with_free_func(stream_free);
        peer->out = g_string_new(NULL);
        peer->session = make_session(peer);
    }
    return world;
}

void world_free_at(struct world **at)
{
    struct world *world = *at;

    for (int side = 0; side < 2; side++) {
        nghttp2_session_del(world->peers[side].session);
        g_ptr_array_free(world->peers[side].streams, TRUE);
        g_string_free(world->peers[side].out, TRUE);
    }
    world->relay->ops->free(world->relay);
    secrets_free(world->context.secrets);
    g_string_free(world->told, TRUE);
    g_free(world);
}

static bool move_in(struct world *world, struct peer *peer)
{
    const struct http_relay_ops *ops = world->relay->ops;
    const uint8_t *data;
    ssize_t length;

    while (peer->out->len < 1 << 16 &&
           (length = nghttp2_session_mem_send(peer->session, &data)) > 0)
        g_string_append_len(peer->out, (const char *)data, length);
    if (peer->out->len == 0 || !ops->wants(world->relay, peer->side))
        return false;
    length = ops->take(world->relay, peer->side, (uint8_t *)peer->out->str,
                       MIN(world->step, peer->out->len));
    if (length < 0) {
        g_assert_nonnull(ops->problem(world->relay));
        world->has_failed = true;
        length = (ssize_t)peer->out->len;
    }
    g_string_erase(peer->out, 0, length);
    return length > 0;
}

static bool move_out(struct world *world, struct peer *peer)
{
    const struct http_relay_ops *ops = world->relay->ops;
    const uint8_t *data;
    size_t length;

    if (peer->holds)
        return false;
    world->is_writing = true;
    data = ops->output(world->relay, peer->side, &length);
    length = MIN(length, world->step);
    if (length > 0) {
        nghttp2_session_mem_recv(peer->session, data, length);
        ops->written(world->relay, peer->side, length);
    }
    world->is_writing = false;
    return length > 0;
}

void world_run(struct world *world)
{
    bool moved = true;

    while (moved) {
        moved = false;
        for (int side = 0; side < 2; side++) {
            moved |= move_in(world, &world->peers[side]);
            moved |= move_out(world, &world->peers[side]);
        }
    }
}

/* ---- messages ------------------------------------------------------------ */

/* Make an array of the lines; a later pseudo-header field replaces an earlier
 * one, an empty one removes it. */
static size_t parse(char **lines, nghttp2_nv *ret_fields)
{
    size_t count = 0;

    for (; *lines; lines++) {
        char *colon = strchr(*lines + (**lines == ':'), ':');
        nghttp2_nv *field = &ret_fields[count];
        size_t i;

        if (!colon)
            continue;
        *field = (nghttp2_nv){ (uint8_t *)*lines,
                               (uint8_t *)colon + MIN(2, strlen(colon)),
                               (size_t)(colon - *lines), 0, 0 };
        field->valuelen = strlen((char *)field->value);
        for (i = 0; **lines == ':' && i < count; i++) {
            if (ret_fields[i].namelen == field->namelen &&
                memcmp(ret_fields[i].name, field->name, field->namelen) == 0) {
                ret_fields[i] = *field;
                break;
            }
        }
        if (**lines != ':' || i == count)
            count++;
    }
    for (size_t i = 0, kept = 0, all = count; i < all; i++) {
        if (ret_fields[i].name[0] == ':' && ret_fields[i].valuelen == 0)
            count--;
        else
            ret_fields[kept++] = ret_fields[i];
    }
    return count;
}

static ssize_t read_pending(nghttp2_session *session, int32_t id, uint8_t *buf,
                            size_t length, uint32_t *flags,
                            nghttp2_data_source *source, void *user_data)
{
    struct peer_stream *stream = source->ptr;
    size_t left = stream->pending->len - stream->sent;

    length = MIN(length, left);
    memcpy(buf, stream->pending->str + stream->sent, length);
    stream->sent += length;
    if (length < left || !stream->ends)
        return length > 0 ? (ssize_t)length : NGHTTP2_ERR_DEFERRED;
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (stream->trailer) {
        char *lines[] = { (char *)stream->trailer, NULL };
        nghttp2_nv trailer;

        parse(lines, &trailer);
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        nghttp2_submit_trailer(session, id, &trailer, 1);
    }
    return (ssize_t)length;
}

struct peer_stream *world_request(struct world *world, const char *method,
                                  const char *path, const char *fields,
                                  bool is_last)
{
    struct peer *guest = &world->peers[HTTP_GUEST];
    struct peer_stream *stream = add(guest, 0);
    nghttp2_data_provider body = { { .ptr = stream }, read_pending };
    g_autofree char *text = g_strdup_printf(
        ":method: %s\n:scheme: https\n:authority: " NAME "\n:path: %s\n%s",
        method, path, fields ? fields : "");
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autofree nghttp2_nv *array = g_new(nghttp2_nv, g_strv_length(lines));
    size_t count = parse(lines, array);

    stream->id = nghttp2_submit_request(guest->session, NULL, array, count,
                                        is_last ? NULL : &body, NULL);
    g_assert_cmpint(stream->id, >, 0);
    return stream;
}

struct peer_stream *world_find(struct world *world, const char *path)
{
    GPtrArray *streams = world->peers[HTTP_SERVER].streams;
    g_autofree char *line = g_strdup_printf(":path: %s\n", path);

    for (guint i = streams->len; i > 0; i--) {
        struct peer_stream *stream = g_ptr_array_index(streams, i - 1);

        if (strstr(stream->head->str, line))
            return stream;
    }
    return NULL;
}

void peer_answer(struct peer *peer, struct peer_stream *stream,
                 const char *fields, bool is_last)
{
    nghttp2_data_provider body = { { .ptr = stream }, read_pending };
    g_auto(GStrv) lines = g_strsplit(fields, "\n", -1);
    g_autofree nghttp2_nv *array = g_new(nghttp2_nv, g_strv_length(lines) + 1);
    size_t count = parse(lines, array);

    nghttp2_submit_response(peer->session, stream->id, array, count,
                            is_last ? NULL : &body);
}

void peer_interim(struct peer *peer, struct peer_stream *stream,
                  const char *fields)
{
    g_auto(GStrv) lines = g_strsplit(fields, "\n", -1);
    g_autofree nghttp2_nv *array = g_new(nghttp2_nv, g_strv_length(lines) + 1);
    size_t count = parse(lines, array);

    nghttp2_submit_headers(peer->session, NGHTTP2_FLAG_NONE, stream->id, NULL,
                           array, count, NULL);
}

void peer_send(struct peer *peer, struct peer_stream *stream, const char *data,
               size_t length, bool is_last)
{
    g_string_append_len(stream->pending, data, (gssize)length);
    stream->ends = is_last;
    nghttp2_session_resume_data(peer->session, stream->id);
}

void peer_send_trailer(struct peer *peer, struct peer_stream *stream)
{
    if (!stream->trailer)
        stream->trailer = "x-sum: 1";
    peer_send(peer, stream, "", 0, true);
}

void peer_reset(struct peer *peer, struct peer_stream *stream, uint32_t code)
{
    nghttp2_submit_rst_stream(peer->session, NGHTTP2_FLAG_NONE, stream->id,
                              code);
}

void peer_hurry(struct peer *peer, struct peer_stream *stream)
{
    stream->is_slow = false;
    nghttp2_session_consume_stream(peer->session, stream->id,
                                   stream->body->len);
}

void peer_inject(struct peer *peer, const void *data, size_t length)
{
    g_string_append_len(peer->out, data, (gssize)length);
}

void peer_inject_frame(struct peer *peer, uint8_t type, uint8_t flags,
                       int32_t id, const void *payload, size_t length)
{
    const uint8_t head[] = {
        (uint8_t)(length >> 16),
        (uint8_t)(length >> 8),
        (uint8_t)length,
        type,
        flags,
        (uint8_t)(id >> 24),
        (uint8_t)(id >> 16),
        (uint8_t)(id >> 8),
        (uint8_t)id,
    };

    peer_inject(peer, head, sizeof(head));
    peer_inject(peer, payload, length);
}

void world_expect_alive(struct world *world)
{
    struct peer_stream *guest = world_request(world, "GET", "/alive", NULL,
                                              true);
    struct peer_stream *server;

    world_run(world);
    server = world_find(world, "/alive");
    g_assert_nonnull(server);
    peer_answer(server_of(world), server, ":status: 200\n", false);
    peer_send(server_of(world), server, "yes", 3, true);
    world_run(world);
    g_assert_cmpstr(guest->body->str, ==, "yes");
    g_assert_true(guest->is_whole && guest->is_closed);
    g_assert_false(world->has_failed);
}
