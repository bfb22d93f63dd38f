/* SPDX-License-Identifier: Apache-2.0
 *
 * conn - see conn.h: the connection's thread.
 *
 * Messages are received into the staging buffer, several at once if available,
 * and decoded in place. A larger message gets its own memory as soon as its
 * size is known, and the rest of it is received there: so only the kernel
 * copies the bytes of a large Twrite.
 *
 * When no request is active the thread sleeps in recv(2), not in poll(2): this
 * saves a system call for a client that sends one request at a time.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "p9/server/conn.h"
#include "p9/server/conn_message.h"
#include "p9/server/conn_parts.h"
#include "p9/server/conn_table.h"
#include "p9/server/dispatch.h"

enum {
    TEXT_MAX = 8192, /* of messages before there is a session */
    SOCKET_BUFFER = 1 << 20,
};

/* ---- the stream ---------------------------------------------------------- */

static bool admits(struct p9_conn *conn)
{
    bool admits;

    pthread_mutex_lock(&conn->lock);
    admits = p9_conn_admits(conn);
    pthread_mutex_unlock(&conn->lock);
    return admits;
}

/* Refuse an invalid size, with a reply if the whole header is there. */
static bool refuse_size(struct p9_conn *conn, const uint8_t *bytes, size_t have,
                        uint32_t size)
{
    log_warn(LOG_FS_BACKEND,
             "client sent a %u-byte message (limit %u); closing its connection",
             size, conn->msize ? conn->msize : TEXT_MAX);
    if (have >= P9_HEADER_SIZE)
        p9_conn_refuse(conn, (uint16_t)(bytes[5] | bytes[6] << 8), -EMSGSIZE);
    return false;
}

/* Handle the first message in staging. Return 1 if it was handled, 0 if it is
 * incomplete, -1 if the connection must end. */
static int handle_next(struct p9_conn *conn)
{
    uint8_t *bytes = conn->staging + conn->start;
    size_t have = conn->end - conn->start;
    uint32_t size, most = conn->msize ? conn->msize : TEXT_MAX;

    if (have < P9_HEADER_SIZE)
        return 0;
    size = p9_message_size(bytes);
    if (size < P9_HEADER_SIZE || size > most)
        return refuse_size(conn, bytes, have, size) ? 1 : -1;
    if (size <= have) {
        conn->start += size;
        return p9_conn_handle_staged(conn, bytes, size) ? 1 : -1;
    }
    if (size <= CONN_STAGING)
        return 0;
    conn->partial = p9_conn_request_new(conn, size, bytes, have);
    conn->have = have;
    conn->start = conn->end = 0;
    return conn->partial ? 0 : -1;
}

static bool handle_partial(struct p9_conn *conn)
{
    struct p9_request *request = conn->partial;
    int r;

    if (!request || conn->have < request->size)
        return true;
    conn->partial = NULL;
    r = p9_message_decode(request->in, request->size, &request->m);
    return p9_conn_handle(conn, request, r);
}

/* Handle all available messages. Return false if the connection must end. */
static bool handle_all(struct p9_conn *conn)
{
    int r = 1;

    if (!handle_partial(conn))
        return false;
    while (r > 0 && !conn->partial && admits(conn))
        r = handle_next(conn);
    if (conn->start == conn->end)
        conn->start = conn->end = 0;
    else if (conn->start > 0) {
        memmove(conn->staging, conn->staging + conn->start,
                conn->end - conn->start);
        conn->end -= conn->start;
        conn->start = 0;
    }
    return r >= 0;
}

static void handle_ready(struct p9_conn *conn)
{
    struct p9_request *request;
    int error;

    while ((request = p9_conn_take_ready(conn, &error))) {
        if (error == 0) {
            p9_dispatch_run(request, p9_conn_done);
            continue;
        }
        if (request->op->flags & P9_OP_LOCK)
            file_locks_abandon(conn->server->locks, request->serial);
        p9_conn_finish(request, error);
    }
}

/* ---- receiving ----------------------------------------------------------- */

/* Receive available bytes, or wait for some. Return 1 if any were received, 0
 * if none are available, -1 if the client has gone. */
static int receive(struct p9_conn *conn, int flags)
{
    struct p9_request *partial = conn->partial;
    uint8_t *to = partial ? partial->in + conn->have
                          : conn->staging + conn->end;
    size_t room = partial ? partial->size - conn->have
                          : CONN_STAGING - conn->end;
    ssize_t n = recv(conn->fd, to, room, flags);

    if (n == 0) {
        conn->sent_all = true;
        return -1;
    }
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    if (partial)
        conn->have += (size_t)n;
    else
        conn->end += (size_t)n;
    return 1;
}

/* Wait for an event of the client, or to be woken. Return false if the
 * connection must end. */
static bool wait_any(struct p9_conn *conn, short events, short *ret_revents)
{
    struct pollfd fds[] = { { conn->fd, events, 0 },
                            { conn->wake_fd, POLLIN, 0 } };
    uint64_t count;

    *ret_revents = 0;
    if (poll(fds, G_N_ELEMENTS(fds), -1) < 0)
        return errno == EINTR;
    *ret_revents = fds[0].revents;
    return !(fds[1].revents & POLLIN) ||
           read(conn->wake_fd, &count, sizeof(count)) >= 0;
}

/* Return false if the connection must end. */
static bool wait_and_receive(struct p9_conn *conn, bool reads, bool writes)
{
    short events = (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
    short revents;

    if (!wait_any(conn, events, &revents))
        return false;
    if (revents & (POLLERR | POLLNVAL))
        return false;
    if (revents & POLLIN)
        return receive(conn, MSG_DONTWAIT) >= 0;
    /* POLLHUP alone: the client has gone while input is not polled. */
    return !(revents & POLLHUP);
}

/* Return whether handle_next() would handle or refuse a message now. */
static bool has_staged(const struct p9_conn *conn)
{
    size_t have = conn->end - conn->start;
    uint32_t size;

    if (conn->partial || have < P9_HEADER_SIZE)
        return false;
    size = p9_message_size(conn->staging + conn->start);
    return size <= have || size > CONN_STAGING;
}

/* The events, besides the client's, that may wake the thread. */
struct wait_state {
    bool awake;  /* work is ready: a slot became free in the meantime */
    bool idle;   /* no work */
    bool reads;  /* more requests may arrive */
    bool writes; /* replies wait for the client */
};

static struct wait_state get_wait_state(struct p9_conn *conn)
{
    struct wait_state wait_state;

    pthread_mutex_lock(&conn->lock);
    p9_outbox_flush(&conn->outbox);
    wait_state.writes = conn->outbox.kept > 0;
    wait_state.idle = conn->n_active == 0 && conn->n_waiting == 0 &&
                      !wait_state.writes;
    /* Receive messages that may not be handled yet, as far as there is room. */
    wait_state.reads = conn->partial || conn->end < CONN_STAGING;
    wait_state.awake = has_staged(conn) && p9_conn_admits(conn);
    conn->wants_wake = !wait_state.idle && !wait_state.awake;
    if (conn->outbox.broken)
        atomic_store(&conn->stops, true);
    pthread_mutex_unlock(&conn->lock);
    return wait_state;
}

/* Sleep until there is work. Return false if the connection must end. */
static bool sleep_and_receive(struct p9_conn *conn)
{
    struct wait_state wait_state = get_wait_state(conn);
    int r = 0;

    if (atomic_load(&conn->stops))
        return false;
    if (wait_state.awake || parked_has_ready(conn->parked))
        return true;
    if (wait_state.idle)
        r = receive(conn, 0);
    return r == 0 ? wait_and_receive(conn, wait_state.reads, wait_state.writes)
                  : r > 0;
}

/* ---- the end ------------------------------------------------------------- */

/* Wait until the client reads more. Return false if it no longer does. */
static bool wait_writable(struct p9_conn *conn)
{
    short revents;

    return wait_any(conn, POLLOUT, &revents) &&
           !(revents & (POLLERR | POLLHUP | POLLNVAL));
}

/* Finish the connection: a client that has closed one direction may still wait
 * for replies on the other. A request that waits for a lock or a decision gets
 * no reply: it could not be flushed. */
static void finish(struct p9_conn *conn)
{
    size_t kept;

    do {
        handle_ready(conn);
        if (!handle_all(conn))
            return;
        kept = p9_conn_settle(conn);
    } while (!atomic_load(&conn->stops) &&
             (kept > 0 ? wait_writable(conn) : has_staged(conn)));
}

/* The kernel limits the size to the host's maximum. */
static void enlarge_socket_buffer(const struct p9_conn *conn)
{
    int size = SOCKET_BUFFER;

    setsockopt(conn->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

static gpointer serve(gpointer data)
{
    struct p9_conn *conn = data;
    static const uint64_t one = 1;

    enlarge_socket_buffer(conn);
    do {
        handle_ready(conn);
    } while (handle_all(conn) && sleep_and_receive(conn));
    if (conn->sent_all)
        finish(conn);
    p9_conn_abort_all(conn);
    pthread_mutex_lock(&conn->lock);
    p9_outbox_flush(&conn->outbox);
    pthread_mutex_unlock(&conn->lock);
    shutdown(conn->fd, SHUT_RDWR);
    log_info(LOG_FS_BACKEND, "connection %u closed", conn->number);
    atomic_store(&conn->ended, true);
    if (write(conn->server->ended_fd, &one, sizeof(one)) < 0)
        log_warn(LOG_FS_BACKEND, "cannot signal the end of connection %u",
                 conn->number);
    return NULL;
}

/* ---- life ---------------------------------------------------------------- */

static void on_fid_ended(struct p9_fid *fid, void *opaque)
{
    struct p9_conn *conn = opaque;

    for (guint i = 0; fid->owners && i < fid->owners->len; i++)
        file_locks_drop(conn->server->locks, fid->inode,
                        g_array_index(fid->owners, struct p9_fid_owner, i).id,
                        false);
    if (fid->writable)
        ic_write_closed(conn->server->ic, fid->write_span);
}

static void free_conn(struct p9_conn *conn)
{
    if (conn->partial)
        p9_conn_forget(conn->partial);
    p9_fids_free(conn->fids);
    parked_queue_free(conn->parked);
    p9_outbox_clear(&conn->outbox);
    p9_lock_owners_clear(&conn->owners);
    g_free(conn->staging);
    fd_close(&conn->fd);
    fd_close(&conn->wake_fd);
    pthread_cond_destroy(&conn->idle);
    pthread_mutex_destroy(&conn->lock);
    g_free(conn);
}

struct p9_conn *p9_conn_start(struct p9_server *server, int fd, uint32_t number)
{
    struct p9_conn *conn = g_new0(struct p9_conn, 1);

    conn->server = server;
    conn->number = number;
    conn->fd = fd;
    conn->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    conn->fids = p9_fids_new(&server->n_fids, on_fid_ended, conn);
    conn->parked = parked_queue_new(server->parked, p9_conn_wake, conn, NULL);
    conn->staging = g_malloc(CONN_STAGING);
    p9_lock_owners_init(&conn->owners, number);
    conn->own.conn = conn;
    conn->own.server = server;
    conn->own.fids = conn->fids;
    conn->own.owners = &conn->owners;
    p9_outbox_init(&conn->outbox, fd);
    pthread_mutex_init(&conn->lock, NULL);
    pthread_cond_init(&conn->idle, NULL);
    if (conn->wake_fd >= 0)
        conn->thread = g_thread_try_new("connection", serve, conn, NULL);
    if (!conn->thread)
        free_conn(g_steal_pointer(&conn));
    return conn;
}

bool p9_conn_has_ended(const struct p9_conn *conn)
{
    return atomic_load(&conn->ended);
}

void p9_conn_free(struct p9_conn *conn)
{
    atomic_store(&conn->stops, true);
    shutdown(conn->fd, SHUT_RDWR);
    p9_conn_wake(conn);
    g_thread_join(conn->thread);
    free_conn(conn);
}
