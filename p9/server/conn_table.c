/* SPDX-License-Identifier: Apache-2.0
 *
 * conn_table - see conn_table.h.
 */
#include "p9/server/conn_table.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "p9/server/dispatch.h"
#include "p9/server/pool.h"

void p9_conn_wake(void *data)
{
    const struct p9_conn *conn = data;
    static const uint64_t one = 1;

    /* Fails if the counter is full: the thread is then awake. */
    if (write(conn->wake_fd, &one, sizeof(one)) < 0)
        return;
}

/* ---- the table (the lock is held) ---------------------------------------- */

static struct p9_request **bucket(struct p9_conn *conn, uint16_t tag)
{
    return &conn->tags[tag % CONN_TAG_BUCKETS];
}

struct p9_request *p9_conn_find_tag(struct p9_conn *conn, uint16_t tag)
{
    struct p9_request *request = conn->n_tags > 0 ? *bucket(conn, tag) : NULL;

    while (request && request->m.tag != tag)
        request = request->next_tag;
    return request;
}

static void add_tag(struct p9_conn *conn, struct p9_request *request)
{
    struct p9_request **first = bucket(conn, request->m.tag);

    if (request->in_tags)
        return;
    request->in_tags = true;
    request->next_tag = *first;
    *first = request;
    conn->n_tags++;
}

static void remove_tag(struct p9_conn *conn, struct p9_request *request)
{
    struct p9_request **at = bucket(conn, request->m.tag);

    if (!request->in_tags)
        return;
    while (*at != request)
        at = &(*at)->next_tag;
    *at = request->next_tag;
    request->in_tags = false;
    conn->n_tags--;
}

bool p9_conn_admits(struct p9_conn *conn)
{
    size_t most = P9_CONN_SLACK_BYTES + 2 * (size_t)conn->msize;

    return conn->n_active < P9_CONN_MAX_ACTIVE &&
           conn->charged + conn->outbox.kept < most;
}

static void activate(struct p9_conn *conn, struct p9_request *request)
{
    request->active = true;
    request->charge = request->size + p9_request_reply_size(request);
    conn->n_active++;
    conn->charged += request->charge;
}

static void deactivate(struct p9_conn *conn, size_t charge)
{
    conn->n_active--;
    conn->charged -= charge;
    if (conn->n_active == 0)
        pthread_cond_signal(&conn->idle);
}

/* ---- memory -------------------------------------------------------------- */

struct p9_request *p9_conn_request_new(struct p9_conn *conn, size_t size,
                                       const uint8_t *bytes, size_t have)
{
    struct p9_request *request = g_new0(struct p9_request, 1);

    request->in = p9_buffers_get(conn->server->buffers, size);
    if (!request->in) {
        g_free(request);
        return NULL;
    }
    memcpy(request->in, bytes, have);
    request->conn = conn;
    request->server = conn->server;
    request->fids = conn->fids;
    request->owners = &conn->owners;
    request->msize = conn->msize;
    request->size = size;
    request->heap = true;
    return request;
}

void p9_conn_forget(struct p9_request *request)
{
    p9_fid_unref(g_steal_pointer(&request->held));
    p9_making_clear(&request->making);
    if (!request->heap)
        return;
    p9_buffers_put(request->server->buffers, request->in, request->size);
    g_free(request);
}

/* Return a copy on the heap, for a request that outlives the call. NULL if
 * there is no memory. */
static struct p9_request *detach(struct p9_request *request)
{
    struct p9_request *copy;

    if (request->heap)
        return request;
    copy = p9_conn_request_new(request->conn, request->size, request->in,
                               request->size);
    if (!copy)
        return NULL;
    /* The strings point into the bytes. */
    p9_message_decode(copy->in, copy->size, &copy->m);
    copy->serial = request->serial;
    copy->op = request->op;
    copy->held = g_steal_pointer(&request->held);
    copy->making = request->making;
    request->making.inode = NULL;
    return copy;
}

/* ---- the end of a request ------------------------------------------------ */

static int encode_error(uint8_t *out, uint16_t tag, int r)
{
    struct p9_message message = { .type = P9_RLERROR, .tag = tag };

    message.ecode = (uint32_t)-r;
    return p9_message_encode(&message, out, P9_SMALL_REPLY);
}

static int encode(struct p9_request *request, int r)
{
    if (r == 0) {
        request->r.tag = request->m.tag;
        r = p9_message_encode(&request->r, request->out,
                              MIN(request->room, request->msize));
    }
    return r < 0 ? encode_error(request->out, request->m.tag, r) : r;
}

static void answer_flushers(struct p9_conn *conn, struct p9_request *request)
{
    struct p9_request *flusher = request->flushers;

    while (flusher) {
        struct p9_request *next = flusher->next_flush;
        struct p9_message message = { .type = P9_RFLUSH,
                                      .tag = flusher->m.tag };
        uint8_t out[P9_HEADER_SIZE];

        remove_tag(conn, flusher);
        p9_message_encode(&message, out, sizeof(out));
        p9_outbox_add(&conn->outbox, out, sizeof(out), true);
        g_free(flusher);
        flusher = next;
    }
    request->flushers = NULL;
}

static void send_reply(struct p9_conn *conn, struct p9_request *request, int r)
{
    bool own = request == &conn->own;
    size_t size = (size_t)encode(request, r);

    pthread_mutex_lock(&conn->lock);
    remove_tag(conn, request);
    if (!conn->discards) {
        if (!request->flushed || r != -EINTR)
            p9_outbox_add(&conn->outbox, request->out, size,
                          own || request->flushers);
        answer_flushers(conn, request);
        if (!own)
            p9_outbox_flush(&conn->outbox);
    }
    pthread_mutex_unlock(&conn->lock);
}

/* Another request may have room now. The lock is held. */
static void wake_sleeper(struct p9_conn *conn)
{
    if (conn->wants_wake)
        p9_conn_wake(conn);
    conn->wants_wake = false;
}

/* The last action of a request: once none is active, the connection may be
 * freed.
 */
static void leave(struct p9_conn *conn, bool active, size_t charge)
{
    pthread_mutex_lock(&conn->lock);
    if (active)
        deactivate(conn, charge);
    wake_sleeper(conn);
    pthread_mutex_unlock(&conn->lock);
}

void p9_conn_finish(struct p9_request *request, int r)
{
    struct p9_conn *conn = request->conn;
    bool own = request == &conn->own, active = request->active;
    size_t charge = request->charge;
    uint8_t error[P9_HEADER_SIZE + 4];

    if (!request->out) { /* it was not started */
        request->out = error;
        request->room = sizeof(error);
    }
    /* If this was the last reference to a fid, its locks end before the
     * reply. */
    p9_fid_unref(g_steal_pointer(&request->held));
    send_reply(conn, request, r);
    p9_conn_forget(request);
    if (!own)
        leave(conn, active, charge);
}

/* Park a request. Return 0, or the error to reply instead. */
static int park(struct p9_request *request, uint64_t releases)
{
    struct p9_conn *conn = request->conn;
    bool is_lock = request->op->flags & P9_OP_LOCK;
    int r = -EINTR;

    pthread_mutex_lock(&conn->lock);
    if (!conn->discards && !request->flushed)
        r = (is_lock ? parked_put_lock : parked_put)(
            conn->parked, releases, request->serial, request, request->size);
    if (r == 0) {
        add_tag(conn, request);
        conn->n_waiting++;
        if (request->active)
            deactivate(conn, request->charge);
        request->active = false;
        wake_sleeper(conn);
    }
    pthread_mutex_unlock(&conn->lock);
    return r;
}

void p9_conn_done(struct p9_request *request, int r, uint64_t releases)
{
    struct p9_request *kept;
    uint8_t *out = request->out;
    size_t room = request->room;

    if (r != IC_PARKED) {
        /* Whatever the error, its waiter is no longer needed. */
        if (r < 0 && (request->op->flags & P9_OP_LOCK))
            file_locks_abandon(request->server->locks, request->serial);
        p9_conn_finish(request, r);
        return;
    }
    p9_request_hold(request);
    kept = detach(request);
    if (kept) {
        kept->out = NULL;
        r = park(kept, releases);
        if (r == 0)
            return;
        kept->out = out;
        kept->room = room;
    }
    if (request->op->flags & P9_OP_LOCK)
        file_locks_abandon(request->server->locks, request->serial);
    p9_conn_finish(kept ? kept : request, kept ? r : -ENOMEM);
}

/* ---- the pool ------------------------------------------------------------ */

void p9_conn_pool(struct p9_conn *conn, struct p9_request *request)
{
    p9_request_hold(request);
    pthread_mutex_lock(&conn->lock);
    add_tag(conn, request);
    activate(conn, request);
    pthread_mutex_unlock(&conn->lock);
    p9_pool_push(conn->server->pool, request);
}

void p9_conn_run_pooled(struct p9_request *request)
{
    struct p9_conn *conn = request->conn;
    bool drop;

    pthread_mutex_lock(&conn->lock);
    drop = conn->discards || request->flushed;
    pthread_mutex_unlock(&conn->lock);
    if (drop)
        p9_conn_finish(request, -EINTR);
    else
        p9_dispatch_run(request, p9_conn_done);
}

struct p9_request *p9_conn_take_ready(struct p9_conn *conn, int *ret_error)
{
    struct parked_request ready;
    struct p9_request *request;

    if (!parked_take(conn->parked, &ready))
        return NULL;
    request = ready.data;
    pthread_mutex_lock(&conn->lock);
    conn->n_waiting--;
    pthread_mutex_unlock(&conn->lock);
    *ret_error = ready.error;
    return request;
}

/* ---- replies of the connection itself ------------------------------------ */

void p9_conn_reply(struct p9_conn *conn, const struct p9_message *message)
{
    uint8_t out[P9_SMALL_REPLY];
    int size = p9_message_encode(message, out, sizeof(out));

    pthread_mutex_lock(&conn->lock);
    if (size > 0)
        p9_outbox_add(&conn->outbox, out, (size_t)size, true);
    pthread_mutex_unlock(&conn->lock);
}

void p9_conn_refuse(struct p9_conn *conn, uint16_t tag, int r)
{
    struct p9_message message = { .type = P9_RLERROR, .tag = tag };

    message.ecode = (uint32_t)-r;
    p9_conn_reply(conn, &message);
}

/* A Tflush of a Tflush waits for the same request. */
static struct p9_request *flush_target(struct p9_request *request)
{
    while (request && request->m.type == P9_TFLUSH)
        request = request->next;
    return request;
}

static void hang_on(struct p9_conn *conn, struct p9_request *old, uint16_t tag)
{
    struct p9_request *flusher = g_new0(struct p9_request, 1);
    struct p9_request **at = &old->flushers;

    flusher->conn = conn;
    flusher->m.type = P9_TFLUSH;
    flusher->m.tag = tag;
    flusher->next = old;
    while (*at)
        at = &(*at)->next_flush;
    *at = flusher;
    add_tag(conn, flusher);
    old->flushed = true;
    if (!old->active)
        parked_interrupt(conn->server->parked, old->serial);
}

/* The number of flushers is bounded by the tags: 65,536. */
void p9_conn_flush_tag(struct p9_conn *conn, uint16_t tag, uint16_t oldtag)
{
    struct p9_message message = { .type = P9_RFLUSH, .tag = tag };
    struct p9_request *old;

    pthread_mutex_lock(&conn->lock);
    old = flush_target(p9_conn_find_tag(conn, oldtag));
    if (old)
        hang_on(conn, old, tag);
    pthread_mutex_unlock(&conn->lock);
    if (!old)
        p9_conn_reply(conn, &message);
}

/* ---- all requests -------------------------------------------------------- */

static void drop(struct p9_conn *conn, struct p9_request *request)
{
    if (request->m.type == P9_TFLUSH) {
        g_free(request);
        return;
    }
    if (request->op->flags & P9_OP_LOCK)
        file_locks_abandon(conn->server->locks, request->serial);
    p9_conn_forget(request);
}

void p9_conn_abort_all(struct p9_conn *conn)
{
    struct p9_request *tags[CONN_TAG_BUCKETS];

    pthread_mutex_lock(&conn->lock);
    conn->discards = true;
    while (conn->n_active > 0)
        pthread_cond_wait(&conn->idle, &conn->lock);
    memcpy(tags, conn->tags, sizeof(tags));
    memset(conn->tags, 0, sizeof(tags));
    conn->n_tags = conn->n_waiting = 0;
    pthread_mutex_unlock(&conn->lock);
    /* The remaining requests are parked, or flush a parked one. */
    parked_drop(conn->parked);
    for (size_t i = 0; i < CONN_TAG_BUCKETS; i++) {
        for (struct p9_request *at = tags[i], *next; at; at = next) {
            next = at->next_tag;
            drop(conn, at);
        }
    }
    pthread_mutex_lock(&conn->lock);
    conn->discards = false;
    pthread_mutex_unlock(&conn->lock);
}

size_t p9_conn_settle(struct p9_conn *conn)
{
    size_t kept;

    pthread_mutex_lock(&conn->lock);
    while (conn->n_active > 0)
        pthread_cond_wait(&conn->idle, &conn->lock);
    p9_outbox_flush(&conn->outbox);
    kept = conn->outbox.kept;
    if (conn->outbox.broken)
        atomic_store(&conn->stops, true);
    pthread_mutex_unlock(&conn->lock);
    return kept;
}
