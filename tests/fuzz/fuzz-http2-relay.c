/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-http2-relay - a hostile guest and a hostile server on both sides of the
 * relay of HTTP/2 (proxy/http2_relay.h).
 *
 * An input is a list of steps. A step's first byte: bit 7 the side, the rest
 *
 *     0-3f   the next byte is a length; bytes of the side
 *     40-5f  bits 0-3 a frame's type; then its flags, the stream, a length;
 *            the payload; with bit 4 the payload is zeros, 64 times as many
 *     60-6f  flags, the stream, a length; "name:value\n" lines of a HEADERS
 *            frame, in literals
 *     70     the side ends
 *     72     the policy changes: requests for /later are refused, or not
 *     71     the side reads no more, or reads again
 *
 * Both sides have sent their SETTINGS before. A separate reader of the output
 * must find whole frames, no request that the policy refuses or that is for
 * another name, no placeholder in a field for the server, and no secret in one
 * for the guest.
 */
#include <glib.h>
#include <nghttp2/nghttp2.h>
#include <string.h>

#include "proxy/http2_parts.h"
#include "proxy/http2_relay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NAME        "api.example.org"
#define PLACEHOLDER "stepback-abcdefghijklmnopqrstuvwx"
#define SECRET      "s3cret-value-of-a-token"
#define BASE64      "czNjcmV0LXZhbHVlLW9mLWEtdG9rZW4"

static const uint8_t magic[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
static const uint8_t settings[9] = { [3] = NGHTTP2_SETTINGS };

/* Output of one side. */
struct reader {
    enum http_side side;
    size_t skip; /* of the magic */
    GByteArray *bytes, *block;
    nghttp2_hd_inflater *inflater;
    bool holds;
    bool guest_knows; /* the value of the secret */
};

struct world {
    struct http_context context;
    struct network_policy policy;
    struct http_relay *relay;
    GByteArray *input[2]; /* that the relay has not taken */
    struct reader readers[2];
    bool has_failed;
    bool refuses_later;
};

static void exchanged(const struct http_exchange *exchange, void *opaque)
{
    for (const char *at = exchange->path; *at; at++)
        g_assert_true(g_ascii_isgraph(*at));
    g_assert_cmpuint(strlen(exchange->path), <=, 1024);
    g_assert_true(exchange->reason || exchange->status > 0);
}

/* ---- the output ---------------------------------------------------------- */

static bool is_override(const char *name)
{
    return strcmp(name, "x-http-method-override") == 0 ||
           strcmp(name, "x-original-url") == 0;
}

static void check_field(const struct reader *reader, const char *name,
                        const char *value)
{
    if (reader->side == HTTP_GUEST) {
        g_assert_null(strstr(value, SECRET));
        g_assert_null(strstr(value, BASE64));
        g_assert_null(strstr(name, SECRET));
        return;
    }
    if (strstr(value, SECRET) || strstr(value, BASE64))
        g_assert_true(reader->guest_knows ||
                      strcmp(name, "authorization") == 0);
    if (is_override(name)) {
        g_assert_cmpstr(value, !=, "/private");
        g_assert_cmpint(g_ascii_strcasecmp(value, "TRACE"), !=, 0);
    }
    g_assert_true(name[0] == ':' || !strstr(value, PLACEHOLDER));
    g_assert_cmpstr(name, !=, "host");
    g_assert_cmpstr(name, !=, "transfer-encoding");
    if (strcmp(name, ":method") == 0)
        g_assert_cmpint(g_ascii_strcasecmp(value, "CONNECT"), !=, 0);
    if (strcmp(name, ":path") == 0)
        g_assert_false(strcmp(value, "/private") == 0 ||
                       g_str_has_prefix(value, "/private?"));
    if (strcmp(name, ":scheme") == 0)
        g_assert_cmpstr(value, ==, "https");
    if (strcmp(name, ":authority") == 0)
        g_assert_cmpint(g_ascii_strncasecmp(value, NAME, strlen(NAME)), ==, 0);
}

static void check_block(struct reader *reader)
{
    const uint8_t *at = reader->block->data;
    size_t left = reader->block->len;
    unsigned authorities = 0, methods = 0;
    int flags = 0;

    while (!(flags & NGHTTP2_HD_INFLATE_FINAL)) {
        nghttp2_nv field;
        ssize_t used = nghttp2_hd_inflate_hd2(reader->inflater, &field, &flags,
                                              at, left, 1);

        g_assert_cmpint(used, >=, 0);
        at += used;
        left -= (size_t)used;
        if (!(flags & NGHTTP2_HD_INFLATE_EMIT))
            continue;
        check_field(reader, (char *)field.name, (char *)field.value);
        authorities += strcmp((char *)field.name, ":authority") == 0;
        methods += strcmp((char *)field.name, ":method") == 0;
    }
    nghttp2_hd_inflate_end_headers(reader->inflater);
    g_assert_cmpuint(authorities, ==, methods);
    g_assert_cmpuint(methods, <=, 1);
    g_byte_array_set_size(reader->block, 0);
}

static void check_frame(struct reader *reader, const uint8_t *head,
                        size_t length)
{
    g_assert_cmpuint(head[3], <=, NGHTTP2_CONTINUATION);
    g_assert_cmpuint(head[3], !=, NGHTTP2_PUSH_PROMISE);
    if (head[3] != NGHTTP2_HEADERS && head[3] != NGHTTP2_CONTINUATION) {
        g_assert_cmpuint(reader->block->len, ==, 0);
        return;
    }
    if (head[3] == NGHTTP2_HEADERS)
        g_assert_false(head[4] & (NGHTTP2_FLAG_PADDED | NGHTTP2_FLAG_PRIORITY));
    g_byte_array_append(reader->block, head + HTTP2_FRAME_HEAD, (guint)length);
    if (head[4] & NGHTTP2_FLAG_END_HEADERS)
        check_block(reader);
}

static void read_output(struct reader *reader, const uint8_t *data,
                        size_t length)
{
    size_t at = MIN(reader->skip, length);

    reader->skip -= at;
    g_byte_array_append(reader->bytes, data + at, (guint)(length - at));
    for (at = 0; reader->bytes->len - at >= HTTP2_FRAME_HEAD;) {
        const uint8_t *head = reader->bytes->data + at;
        size_t payload = (size_t)head[0] << 16 | (size_t)head[1] << 8 |
                         (size_t)head[2];

        if (reader->bytes->len - at - HTTP2_FRAME_HEAD < payload)
            break;
        check_frame(reader, head, payload);
        at += HTTP2_FRAME_HEAD + payload;
    }
    g_byte_array_remove_range(reader->bytes, 0, (guint)at);
}

static bool drain(struct world *world, struct reader *reader)
{
    const struct http_relay_ops *ops = world->relay->ops;
    const uint8_t *data;
    size_t length = 0;

    data = reader->holds ? NULL
                         : ops->output(world->relay, reader->side, &length);
    if (length == 0) {
        /* All that was written are whole frames. */
        g_assert_true(reader->holds || reader->bytes->len == 0);
        return false;
    }
    read_output(reader, data, length);
    ops->written(world->relay, reader->side, length);
    return true;
}

/* ---- the input ----------------------------------------------------------- */

static bool feed(struct world *world, enum http_side side)
{
    const struct http_relay_ops *ops = world->relay->ops;
    GByteArray *input = world->input[side];
    uint8_t *copy; /* of the exact size, for the sanitizer */
    ssize_t used;

    if (input->len == 0 || world->has_failed)
        return false;
    copy = g_memdup2(input->data, input->len);
    used = ops->take(world->relay, side, copy, input->len);
    g_free(copy);
    g_assert_cmpint(used, <=, input->len);
    if (used < 0)
        world->has_failed = true;
    else
        g_byte_array_remove_range(input, 0, (guint)used);
    return used > 0;
}

static void check_bounds(struct world *world)
{
    const struct http2_relay *relay = (struct http2_relay *)world->relay;
    size_t held[2] = { 0 };

    g_assert_cmpuint(relay->streams.length, <=, HTTP2_STREAMS_HELD);
    g_assert_cmpuint(relay->held_trailers, <=, HTTP2_TRAILERS);
    for (GList *link = relay->streams.head; link; link = link->next) {
        const struct http2_stream *stream = link->data;

        for (int side = 0; side < 2; side++)
            held[side] += stream->to[side].body.length;
    }
    for (int side = 0; side < 2; side++) {
        g_assert_cmpuint(held[side], <=, HTTP2_WINDOWS + HTTP2_OUTPUT);
        g_assert_cmpuint(relay->ends[side].queued_heads, <=,
                         HTTP2_HEADS + HTTP2_TRAILERS + HTTP2_FIELDS_MAX);
    }
}

static void run(struct world *world)
{
    bool moved = true;

    while (moved) {
        moved = false;
        for (int side = 0; side < 2; side++) {
            moved |= feed(world, side);
            check_bounds(world);
            moved |= drain(world, &world->readers[side]);
        }
    }
}

/* ---- steps --------------------------------------------------------------- */

static void put_head(GByteArray *input, size_t length, uint8_t type,
                     uint8_t flags, uint8_t stream)
{
    const uint8_t head[] = { (uint8_t)(length >> 16),
                             (uint8_t)(length >> 8),
                             (uint8_t)length,
                             type,
                             flags,
                             0,
                             0,
                             0,
                             stream };

    g_byte_array_append(input, head, sizeof(head));
}

static void put_literal(GByteArray *block, const char *text)
{
    size_t length = MIN(strlen(text), 126);
    uint8_t byte = (uint8_t)length;

    g_byte_array_append(block, &byte, 1);
    g_byte_array_append(block, (const uint8_t *)text, (guint)length);
}

static void put_fields(GByteArray *input, const uint8_t *step,
                       const uint8_t *data, size_t length)
{
    GByteArray *block = g_byte_array_new();
    g_autofree char *text = g_strndup((const char *)data, length);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (char **line = lines; *line; line++) {
        char *colon = strchr(*line + (**line == ':'), ':');
        const uint8_t literal = 0;

        if (!colon)
            continue;
        *colon = '\0';
        g_byte_array_append(block, &literal, 1);
        put_literal(block, *line);
        put_literal(block, colon + 1);
    }
    put_head(input, block->len, NGHTTP2_HEADERS, step[1], step[2]);
    g_byte_array_append(input, block->data, block->len);
    g_byte_array_free(block, TRUE);
}

static void make_policy(struct network_policy *policy, bool refuses_later)
{
    json_t *json = json_pack(
        "{s:[s,s,s]}", "allow", "intercept:" NAME, "deny:" NAME "/private",
        refuses_later ? "deny:" NAME "/later" : "deny:DELETE:" NAME);

    g_assert_true(network_policy_parse(json, policy, NULL));
    json_decref(json);
}

/* A relay that is not allowed to go on is freed (connections.c). */
static void change_policy(struct world *world)
{
    world->refuses_later = !world->refuses_later;
    make_policy(&world->policy, world->refuses_later);
    if (!world->relay->ops->is_allowed(world->relay)) {
        world->has_failed = true;
        for (int side = 0; side < 2; side++)
            world->readers[side].holds = true;
    }
}

/* Return the number of bytes that the step has; 0: it is cut off. */
static size_t take_step(struct world *world, const uint8_t *step, size_t size)
{
    enum http_side side = step[0] >> 7 ? HTTP_SERVER : HTTP_GUEST;
    GByteArray *input = world->input[side];
    unsigned kind = step[0] & 0x7f;
    size_t head = kind < 0x40 ? 2 : kind < 0x70 ? 4 : 1, length = 0;
    static const uint8_t zeros[64 * 255];

    if (size < head)
        return 0;
    if (head > 1)
        length = MIN(step[head - 1], size - head);
    if (kind < 0x40) {
        g_byte_array_append(input, step + 2, (guint)length);
    } else if (kind < 0x60 && kind & 0x10) {
        put_head(input, length * 64, kind & 0xf, step[1], step[2]);
        g_byte_array_append(input, zeros, (guint)length * 64);
        length = 0;
    } else if (kind < 0x60) {
        put_head(input, length, kind & 0xf, step[1], step[2]);
        g_byte_array_append(input, step + head, (guint)length);
    } else if (kind < 0x70) {
        put_fields(input, step, step + head, length);
    } else if (kind == 0x70) {
        world->relay->ops->end(world->relay, side);
    } else if (kind == 0x72) {
        change_policy(world);
    } else {
        world->readers[side].holds = !world->readers[side].holds;
    }
    return head + length;
}

static void make_secrets(struct world *world)
{
    json_t *list = json_pack("[{s:s,s:s,s:s,s:[s],s:[s]}]", "name", "TOKEN",
                             "placeholder", PLACEHOLDER, "value", SECRET,
                             "hosts", NAME, "headers", "authorization");

    world->context.secrets = secrets_new();
    g_assert_true(secrets_configure(world->context.secrets, list, NULL));
    json_decref(list);
}

static void set_up(struct world *world)
{
    make_policy(&world->policy, false);
    world->context.name = NAME;
    world->context.port = 443;
    world->context.tls = true;
    world->context.policy = &world->policy;
    world->context.exchanged = exchanged;
    make_secrets(world);
    world->relay = http2_relay_new(&world->context);
    for (int side = 0; side < 2; side++) {
        world->input[side] = g_byte_array_new();
        world->readers[side].side = side;
        world->readers[side].bytes = g_byte_array_new();
        world->readers[side].block = g_byte_array_new();
        nghttp2_hd_inflate_new(&world->readers[side].inflater);
    }
    world->readers[HTTP_SERVER].skip = HTTP2_MAGIC;
    g_byte_array_append(world->input[HTTP_GUEST], magic, HTTP2_MAGIC);
    for (int side = 0; side < 2; side++)
        g_byte_array_append(world->input[side], settings, sizeof(settings));
}

static void tear_down(struct world *world)
{
    world->relay->ops->free(world->relay);
    secrets_free(world->context.secrets);
    for (int side = 0; side < 2; side++) {
        g_byte_array_free(world->input[side], TRUE);
        g_byte_array_free(world->readers[side].bytes, TRUE);
        g_byte_array_free(world->readers[side].block, TRUE);
        nghttp2_hd_inflate_del(world->readers[side].inflater);
    }
    g_free(world);
}

/* Return whether the input has a part of the value that is long enough to make
 * the rest of it by header compression. */
static bool knows(const uint8_t *data, size_t size)
{
    return memmem(data, size, SECRET, 6) || memmem(data, size, BASE64, 6);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world *world = g_new0(struct world, 1);
    size_t at = 0, used = 1;

    set_up(world);
    world->readers[HTTP_SERVER].guest_knows = knows(data, size);
    run(world);
    while (at < size && used > 0) {
        used = take_step(world, data + at, size - at);
        at += used;
        run(world);
    }
    for (int side = 0; side < 2; side++) {
        world->relay->ops->end(world->relay, side);
        world->readers[side].holds = false;
    }
    run(world);
    tear_down(world);
    return 0;
}
