/* SPDX-License-Identifier: Apache-2.0
 *
 * p9_client - see p9_client.h.
 */
#include "tests/lib/p9_client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/unix_socket.h"

enum { ROOM = P9_MAX_MSIZE, TIMEOUT_MS = 60000 };

/* ---- messages ------------------------------------------------------------ */

struct p9_client *p9_client_open(const char *socket_path)
{
    int fd = unix_socket_connect(socket_path, 0);
    struct p9_client *client;

    if (fd < 0)
        return NULL;
    client = g_new0(struct p9_client, 1);
    client->fd = fd;
    client->msize = 8192;
    client->room = ROOM;
    client->out = g_malloc(ROOM);
    client->in = g_malloc(ROOM);
    client->next_fid = 1;
    client->gid = getegid();
    return client;
}

struct p9_client *p9_client_connect(const char *socket_path, uint32_t msize,
                                    uint32_t uid)
{
    struct p9_client *client = p9_client_open(socket_path);

    g_assert_nonnull(client);
    g_assert_cmpint(p9_version(client, msize, P9_VERSION, NULL, NULL), ==, 0);
    g_assert_cmpint(p9_attach(client, P9_ROOT, "", uid), ==, 0);
    return client;
}

void p9_client_free(struct p9_client *client)
{
    if (!client)
        return;
    fd_close(&client->fd);
    g_free(client->out);
    g_free(client->in);
    g_free(client);
}

void p9_client_send_bytes(struct p9_client *client, const void *bytes,
                          size_t size)
{
    g_assert_cmpint(fd_write_all(client->fd, bytes, size), ==, 0);
}

void p9_client_send(struct p9_client *client, const struct p9_message *message)
{
    int size = p9_message_encode(message, client->out, client->room);

    g_assert_cmpint(size, >, 0);
    p9_client_send_bytes(client, client->out, (size_t)size);
}

bool p9_client_is_readable(struct p9_client *client, int ms)
{
    struct pollfd fds = { client->fd, POLLIN, 0 };

    return poll(&fds, 1, ms) == 1;
}

static bool receive_bytes(struct p9_client *client, uint8_t *to, size_t size)
{
    for (size_t have = 0; have < size;) {
        ssize_t n;

        if (!p9_client_is_readable(client, TIMEOUT_MS))
            g_error("the server does not answer");
        n = read(client->fd, to + have, size - have);
        if (n <= 0)
            return false;
        have += (size_t)n;
    }
    return true;
}

bool p9_client_receive(struct p9_client *client, struct p9_message *ret_message)
{
    uint32_t size;

    if (!receive_bytes(client, client->in, 4))
        return false;
    size = p9_message_size(client->in);
    g_assert_cmpuint(size, >=, P9_HEADER_SIZE);
    g_assert_cmpuint(size, <=, MAX(client->msize, 8192));
    if (!receive_bytes(client, client->in + 4, size - 4))
        return false;
    g_assert_cmpint(p9_message_decode(client->in, size, ret_message), ==, 0);
    return true;
}

int p9_client_call(struct p9_client *client, struct p9_message *message,
                   struct p9_message *ret_reply)
{
    struct p9_message reply;

    ret_reply = ret_reply ? ret_reply : &reply;
    message->tag = message->type == P9_TVERSION ? P9_NO_TAG
                                                : client->next_tag++ % 60000;
    p9_client_send(client, message);
    if (!p9_client_receive(client, ret_reply))
        return -ECONNRESET;
    g_assert_cmpuint(ret_reply->tag, ==, message->tag);
    if (ret_reply->type == P9_RLERROR)
        return -(int)ret_reply->ecode;
    g_assert_cmpuint(ret_reply->type, ==, message->type + 1);
    return 0;
}

uint32_t p9_client_new_fid(struct p9_client *client)
{
    return client->next_fid++;
}

/* ---- sessions ------------------------------------------------------------ */

int p9_version(struct p9_client *client, uint32_t msize, const char *version,
               uint32_t *ret_msize, char **ret_version)
{
    struct p9_message m = { .type = P9_TVERSION }, reply;
    int r;

    m.version.msize = msize;
    m.version.version = p9_string(version);
    r = p9_client_call(client, &m, &reply);
    if (r < 0)
        return r;
    client->msize = reply.version.msize;
    if (ret_msize)
        *ret_msize = reply.version.msize;
    if (ret_version)
        *ret_version = g_strndup(reply.version.version.at,
                                 reply.version.version.len);
    return 0;
}

int p9_attach(struct p9_client *client, uint32_t fid, const char *aname,
              uint32_t uid)
{
    struct p9_message m = { .type = P9_TATTACH };

    m.attach.fid = fid;
    m.attach.afid = P9_NO_FID;
    m.attach.uname = p9_string("");
    m.attach.aname = p9_string(aname);
    m.attach.uid = uid;
    return p9_client_call(client, &m, NULL);
}

/* Split off as many names as one request takes; *at moves past them. */
static uint16_t split(const char **at, struct p9_string names[P9_MAX_WALK])
{
    uint16_t n = 0;

    while (**at && n < P9_MAX_WALK) {
        size_t len = strcspn(*at, "/");

        if (len > 0)
            names[n++] = (struct p9_string){ *at, (uint16_t)len };
        *at += len + ((*at)[len] == '/');
    }
    return n;
}

/* Walk some names in one request; *ret_done: how many were found. */
static int walk_once(struct p9_client *client, uint32_t from, uint32_t to,
                     const struct p9_string *names, uint16_t n,
                     uint16_t *ret_done)
{
    struct p9_message m = { .type = P9_TWALK }, reply;
    int r;

    m.walk.fid = from;
    m.walk.newfid = to;
    m.walk.n = n;
    memcpy(m.walk.names, names, n * sizeof(*names));
    r = p9_client_call(client, &m, &reply);
    *ret_done = r == 0 ? reply.rwalk.n : 0;
    return r;
}

/* The server reports the error of a missing name only if that name is the
 * first. */
static int walk_error(struct p9_client *client, uint32_t from,
                      const struct p9_string *names, uint16_t found)
{
    uint32_t fid = p9_client_new_fid(client);
    int r = walk_once(client, from, fid, names, found, &found);

    if (r < 0)
        return r;
    r = walk_once(client, fid, fid, names + found, 1, &found);
    p9_clunk(client, fid);
    return r < 0 ? r : -ENOENT;
}

int p9_walk(struct p9_client *client, uint32_t from, const char *path,
            uint32_t *ret_fid)
{
    uint32_t fid = p9_client_new_fid(client);
    bool first = true;

    while (*path || first) {
        struct p9_string names[P9_MAX_WALK];
        uint16_t n = split(&path, names), done;
        uint32_t start = first ? from : fid;
        int r = walk_once(client, start, fid, names, n, &done);

        if (r == 0 && done < n)
            r = walk_error(client, start, names, done);
        if (r < 0 && !first)
            p9_clunk(client, fid);
        if (r < 0)
            return r;
        first = false;
    }
    *ret_fid = fid;
    return 0;
}

static int call_fid(struct p9_client *client, uint8_t type, uint32_t fid)
{
    struct p9_message m = { .type = type };

    m.fid = fid;
    return p9_client_call(client, &m, NULL);
}

int p9_clunk(struct p9_client *client, uint32_t fid)
{
    return call_fid(client, P9_TCLUNK, fid);
}

int p9_remove(struct p9_client *client, uint32_t fid)
{
    return call_fid(client, P9_TREMOVE, fid);
}
