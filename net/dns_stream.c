/* SPDX-License-Identifier: Apache-2.0
 *
 * dns_stream - see dns_stream.h.
 */
#include "net/dns_stream.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "net/frame.h"

struct peer {
    struct dns_stream *stream;
    int fd;
    guint source, timer;
    size_t length;
    uint8_t input[2 + DNS_STREAM_QUERY];
};

struct dns_stream {
    dns_stream_answer answer;
    void *opaque;
    GPtrArray *peers;
};

struct dns_stream *dns_stream_new(dns_stream_answer answer, void *opaque)
{
    struct dns_stream *stream = g_new0(struct dns_stream, 1);

    stream->answer = answer;
    stream->opaque = opaque;
    stream->peers = g_ptr_array_new();
    return stream;
}

static void peer_free(struct peer *peer)
{
    g_clear_handle_id(&peer->source, g_source_remove);
    g_clear_handle_id(&peer->timer, g_source_remove);
    fd_close(&peer->fd);
    g_free(peer);
}

static void end(struct peer *peer)
{
    g_ptr_array_remove_fast(peer->stream->peers, peer);
    peer_free(peer);
}

void dns_stream_free(struct dns_stream *stream)
{
    if (!stream)
        return;
    for (guint i = 0; i < stream->peers->len; i++)
        peer_free(stream->peers->pdata[i]);
    g_ptr_array_unref(stream->peers);
    g_free(stream);
}

/* Answer the query of this length at the beginning of the input. The answer
 * fits into the socket's buffer if the guest reads its answers. */
static bool answer(struct peer *peer, size_t length)
{
    struct dns_stream *stream = peer->stream;
    uint8_t output[2 + DNS_STREAM_ANSWER];
    size_t size = stream->answer(peer->input + 2, length, output + 2,
                                 stream->opaque);

    if (size == 0)
        return false;
    frame_put16(output, (unsigned)size);
    size += 2;
    return send(peer->fd, output, size, MSG_DONTWAIT | MSG_NOSIGNAL) ==
           (ssize_t)size;
}

static bool answer_all(struct peer *peer)
{
    size_t used, length;

    while (peer->length >= 2) {
        length = frame_get16(peer->input);
        used = 2 + length;
        if (length > DNS_STREAM_QUERY)
            return false;
        if (peer->length < used)
            break;
        if (!answer(peer, length))
            return false;
        peer->length -= used;
        memmove(peer->input, peer->input + used, peer->length);
    }
    return true;
}

static gboolean on_idle(gpointer data)
{
    struct peer *peer = data;

    peer->timer = 0;
    end(peer);
    return G_SOURCE_REMOVE;
}

static void expect_more(struct peer *peer)
{
    g_clear_handle_id(&peer->timer, g_source_remove);
    peer->timer = g_timeout_add_seconds(DNS_STREAM_IDLE_S, on_idle, peer);
}

static gboolean on_input(int fd, GIOCondition condition, gpointer data)
{
    struct peer *peer = data;
    ssize_t count = recv(fd, peer->input + peer->length,
                         sizeof(peer->input) - peer->length, MSG_DONTWAIT);

    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return G_SOURCE_CONTINUE;
    if (count > 0) {
        peer->length += (size_t)count;
        if (answer_all(peer)) {
            expect_more(peer);
            return G_SOURCE_CONTINUE;
        }
    }
    peer->source = 0;
    end(peer);
    return G_SOURCE_REMOVE;
}

int dns_stream_open(struct dns_stream *stream)
{
    struct peer *peer;
    int pair[2];

    if (stream->peers->len >= DNS_STREAM_MAX)
        return -ECONNREFUSED;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                   pair) < 0)
        return -errno;
    peer = g_new0(struct peer, 1);
    peer->stream = stream;
    peer->fd = pair[1];
    peer->source = g_unix_fd_add(pair[1], G_IO_IN, on_input, peer);
    expect_more(peer);
    g_ptr_array_add(stream->peers, peer);
    return pair[0];
}
