/* SPDX-License-Identifier: Apache-2.0
 *
 * conn_message - see conn_message.h.
 */
#include "p9/server/conn_message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/log.h"
#include "p9/server/conn_table.h"
#include "p9/server/dispatch.h"

enum { BIG_DATA = 32768 }; /* bytes that justify another thread */

/* ---- a session ----------------------------------------------------------- */

static bool is_our_version(const struct p9_string *version)
{
    return version->len == strlen(P9_VERSION) &&
           memcmp(version->at, P9_VERSION, version->len) == 0;
}

static void begin_session(struct p9_conn *conn, const struct p9_message *m)
{
    struct p9_message reply = { .type = P9_RVERSION, .tag = m->tag };

    p9_conn_abort_all(conn);
    p9_fids_clear(conn->fids);
    p9_lock_owners_forget(&conn->owners);
    conn->msize = 0;
    if (m->version.msize < P9_MIN_MSIZE) {
        p9_conn_refuse(conn, m->tag, -EINVAL);
        return;
    }
    reply.version.msize = MIN(m->version.msize, conn->server->config.msize_max);
    reply.version.version = p9_string("unknown");
    if (is_our_version(&m->version.version)) {
        conn->msize = reply.version.msize;
        reply.version.version = p9_string(P9_VERSION);
    }
    p9_conn_reply(conn, &reply);
}

/* ---- one message --------------------------------------------------------- */

static bool has_more_input(const struct p9_conn *conn)
{
    uint8_t byte;

    return conn->end > conn->start ||
           recv(conn->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

static bool is_for_pool(const struct p9_conn *conn,
                        const struct p9_request *request)
{
    if (request->op->flags & P9_OP_SLOW)
        return true;
    if (!(request->op->flags & P9_OP_DATA) ||
        MAX(request->size, p9_request_reply_size(request)) < BIG_DATA)
        return false;
    return has_more_input(conn) && !p9_request_is_attribute(request);
}

/* Run a request here, or pass it to the pool. request is embedded in the
 * connection, or on the heap and taken. */
static void start_request(struct p9_conn *conn, struct p9_request *request)
{
    struct p9_request *copy = request;

    request->serial = atomic_fetch_add(&conn->server->serials, 1) + 1;
    if (!is_for_pool(conn, request)) {
        p9_dispatch_run(request, p9_conn_done);
        return;
    }
    if (!request->heap) {
        copy = p9_conn_request_new(conn, request->size, request->in,
                                   request->size);
        if (!copy) {
            p9_conn_refuse(conn, request->m.tag, -ENOMEM);
            return;
        }
        p9_message_decode(copy->in, copy->size, &copy->m);
        copy->op = request->op;
        copy->serial = request->serial;
    }
    p9_conn_pool(conn, copy);
}

static bool tag_is_used(struct p9_conn *conn, uint16_t tag)
{
    bool used;

    pthread_mutex_lock(&conn->lock);
    used = p9_conn_find_tag(conn, tag) != NULL;
    pthread_mutex_unlock(&conn->lock);
    return used;
}

/* Return the error to reply to an invalid or misplaced message, or 0 to
 * continue. */
static int check(const struct p9_conn *conn, struct p9_request *request, int r)
{
    if (r < 0)
        return r;
    if (conn->msize == 0)
        return -EPROTO;
    request->op = p9_dispatch_find(request->m.type);
    return request->op ? 0 : -EOPNOTSUPP;
}

bool p9_conn_handle(struct p9_conn *conn, struct p9_request *request, int r)
{
    const struct p9_message *m = &request->m;
    bool is_session = r == 0 && (m->type == P9_TVERSION ||
                                 (m->type == P9_TFLUSH && conn->msize > 0));

    if (tag_is_used(conn, m->tag) && m->type != P9_TVERSION) {
        log_warn(LOG_FS_BACKEND,
                 "client reused the pending tag %u; closing its connection",
                 m->tag);
        p9_conn_forget(request);
        return false;
    }
    if (!is_session)
        r = check(conn, request, r);
    if (is_session && m->type == P9_TVERSION)
        begin_session(conn, m);
    else if (is_session)
        p9_conn_flush_tag(conn, m->tag, m->oldtag);
    else if (r < 0)
        p9_conn_refuse(conn, m->tag, r);
    else {
        start_request(conn, request);
        return true;
    }
    p9_conn_forget(request);
    return true;
}

bool p9_conn_handle_staged(struct p9_conn *conn, uint8_t *bytes, size_t size)
{
    struct p9_request *own = &conn->own;
    int r;

    own->in = bytes;
    own->size = size;
    own->msize = conn->msize;
    own->out = NULL;
    own->flushed = false;
    r = p9_message_decode(bytes, size, &own->m);
    return p9_conn_handle(conn, own, r);
}
