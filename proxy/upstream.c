/* SPDX-License-Identifier: Apache-2.0
 *
 * upstream - see upstream.h.
 */
#include "proxy/upstream.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "common/fd.h"

enum { READ_MAX = 4096 };

static void clear_text(char **text)
{
    if (*text)
        explicit_bzero(*text, strlen(*text));
    g_clear_pointer(text, g_free);
}

void upstream_server_clear(struct upstream_server *server)
{
    clear_text(&server->authorization);
    server->port = 0;
}

void upstream_prepare(struct upstream *upstream,
                      const struct upstream_server *server, const char *name,
                      unsigned port)
{
    const char *authorization = server->authorization;

    upstream->used = true;
    upstream->request = g_strdup_printf(
        "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n%s%s%s\r\n", name, port, name,
        port, authorization ? "Proxy-Authorization: " : "",
        authorization ? authorization : "", authorization ? "\r\n" : "");
    upstream->length = strlen(upstream->request);
}

static void fail(struct upstream *upstream, const char *problem)
{
    g_autofree char *reason = g_strdup(problem);

    upstream_stop(upstream);
    upstream->done(-1, reason, upstream->opaque);
}

static void fail_with(struct upstream *upstream, int error)
{
    g_autofree char *problem = g_strdup_printf(
        "the connection to the upstream proxy failed: %s", g_strerror(error));

    fail(upstream, problem);
}

static void send_request(struct upstream *upstream)
{
    ssize_t n = send(upstream->fd, upstream->request + upstream->sent,
                     upstream->length - upstream->sent, MSG_NOSIGNAL);
    int rc;

    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        fail_with(upstream, errno);
        return;
    }
    upstream->sent += n > 0 ? (size_t)n : 0;
    if (upstream->sent < upstream->length)
        return;
    clear_text(&upstream->request);
    rc = poller_watch(upstream->poller, &upstream->watch, upstream->fd,
                      EPOLLIN);
    if (rc < 0)
        fail_with(upstream, -rc);
}

/* Only the bytes of the answer are taken off the socket. All that are looked at
 * are, unless it ends: the poller would report the others again and again. */
static void read_answer(struct upstream *upstream)
{
    char data[READ_MAX];
    ssize_t n = recv(upstream->fd, data, sizeof(data), MSG_PEEK);
    enum upstream_answer_verdict verdict;
    size_t used;
    int fd;

    if (n < 0) {
        if (errno != EAGAIN && errno != EINTR)
            fail_with(upstream, errno);
        return;
    }
    if (n == 0) {
        fail(upstream, "the upstream proxy closed the connection before its "
                       "answer was whole");
        return;
    }
    verdict = upstream_answer_read(&upstream->answer, data, (size_t)n, &used);
    if (used > 0 && recv(upstream->fd, data, used, 0) != (ssize_t)used)
        fail_with(upstream, EIO);
    else if (verdict == UPSTREAM_ANSWER_REFUSED)
        fail(upstream, upstream->answer.problem);
    else if (verdict == UPSTREAM_ANSWER_TUNNEL) {
        poller_forget(upstream->poller, &upstream->watch);
        fd = fd_steal(&upstream->fd);
        upstream_stop(upstream);
        upstream->done(fd, NULL, upstream->opaque);
    }
}

static void on_ready(uint32_t events, void *opaque)
{
    struct upstream *upstream = opaque;

    if (upstream->request)
        send_request(upstream);
    else
        read_answer(upstream);
}

void upstream_start(struct upstream *upstream, int fd)
{
    int rc;

    upstream->watch.ready = on_ready;
    upstream->watch.opaque = upstream;
    rc = poller_watch(upstream->poller, &upstream->watch, fd, EPOLLOUT);
    if (rc == 0) {
        upstream->fd = fd;
        return;
    }
    fd_close(&fd);
    fail_with(upstream, -rc);
}

const char *upstream_describe_silence(const struct upstream *upstream)
{
    if (!upstream->used)
        return NULL;
    return upstream->watch.added
               ? "the upstream proxy does not answer within 30 s"
               : "cannot connect to the upstream proxy within 15 s";
}

void upstream_stop(struct upstream *upstream)
{
    if (upstream->watch.added) {
        poller_forget(upstream->poller, &upstream->watch);
        fd_close(&upstream->fd);
    }
    clear_text(&upstream->request);
    upstream_answer_clear(&upstream->answer);
}
