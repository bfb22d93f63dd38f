/* SPDX-License-Identifier: Apache-2.0
 *
 * connection - see connection.h.
 */
#include "proxy/connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "common/fd.h"
#include "proxy/dial.h"
#include "proxy/flow.h"

/* Until a server is connected; until a guest has sent what must be checked as a
 * whole; until an end that is gone has left nothing; until a guest has read a
 * refusal. */
enum {
    CONNECT_TIME = 15 * G_USEC_PER_SEC,
    HEAD_TIME = 30 * G_USEC_PER_SEC,
    DRAIN_TIME = 30 * G_USEC_PER_SEC,
    REFUSAL_TIME = 2 * G_USEC_PER_SEC,
};

_Static_assert((int)FLOW_MAX >= (int)GUEST_CHECK_MAX,
               "a flow holds what is judged as a whole");

struct connection {
    struct poller *poller;
    struct connection_target target;
    connection_ended *ended;
    void *opaque;

    int guest_fd, server_fd; /* server_fd: -1 until it is connected */
    struct watch guest, server;
    struct flow up, down; /* to the server, to the guest */
    struct guest_check check;
    struct dial dial;
    bool dialed;

    bool over, reset;      /* reset: an end was not closed in order */
    bool refused, drained; /* drained: the guest's bytes are dropped */
    bool guest_gone, server_gone;
    char *reason, *allow;
    char address[INET6_ADDRSTRLEN];
    gint64 started;
    gint64 connect_until, head_until, drain_until; /* 0: no limit */
    guint64 heads; /* that were read when head_until was set */
};

/* ---- the end ------------------------------------------------------------- */

static void end(struct connection *connection, bool reset, const char *reason)
{
    connection->over = true;
    connection->reset = connection->reset || reset;
    if (reason && !connection->reason)
        connection->reason = g_strdup(reason);
}

static void close_server(struct connection *connection)
{
    /* Closing then sends a reset. */
    const struct linger at_once = { .l_onoff = 1 };

    dial_stop(&connection->dial);
    if (connection->server_fd < 0)
        return;
    if (connection->reset)
        setsockopt(connection->server_fd, SOL_SOCKET, SO_LINGER, &at_once,
                   sizeof(at_once));
    poller_forget(connection->poller, &connection->server);
    fd_close(&connection->server_fd);
}

void connection_describe(const struct connection *connection,
                         struct connection_report *ret_report)
{
    *ret_report = (struct connection_report){
        .target = &connection->target,
        .address = connection->address[0] ? connection->address : NULL,
        .refused = connection->refused,
        .reason = connection->reason,
        .allow = connection->allow,
        .from_guest = connection->up.total,
        .to_guest = connection->down.total,
        .milliseconds = (g_get_monotonic_time() - connection->started) / 1000,
    };
}

static void report_end(struct connection *connection)
{
    struct connection_report report;

    connection_describe(connection, &report);
    connection->ended(connection, &report, connection->opaque);
}

/* Tell the guest in its protocol, if it waits for a first answer. */
static void answer_refusal(struct connection *connection)
{
    static const char alert[] = { 21, 3, 1, 0, 2, 2, 49 }; /* access_denied */
    const struct guest_check *check = &connection->check;
    const char *other = check->refusal.other;
    g_autofree char *body = NULL, *answer = NULL;

    if (connection->down.total > 0 || check->http.count > 0)
        return;
    if (check->protocol == GUEST_CHECK_TLS)
        send(connection->guest_fd, alert, sizeof(alert), MSG_NOSIGNAL);
    if (check->protocol != GUEST_CHECK_HTTP)
        return;
    body = g_strdup_printf("Stepback refused this request to %s: %s.\n"
                           "Add %s to --network to allow it.\n",
                           connection->target.name, connection->reason,
                           other[0] ? other : "NAME");
    if (!other[0])
        *strstr(body, "Add NAME to --network") = '\0';
    answer = g_strdup_printf("HTTP/1.1 403 Forbidden\r\n"
                             "Content-Type: text/plain\r\n"
                             "Content-Length: %zu\r\n"
                             "Connection: close\r\n\r\n%s",
                             strlen(body), body);
    send(connection->guest_fd, answer, strlen(answer), MSG_NOSIGNAL);
}

/* Return the policy's entry that would allow what the guest sent: a new string,
 * or NULL. */
static char *find_entry(const struct connection *connection)
{
    const struct guest_check *check = &connection->check;
    const struct connection_target *target = &connection->target;
    bool web = target->port == 80 || target->port == 443;

    if (check->refusal.other[0])
        return web ? g_strdup(check->refusal.other)
                   : g_strdup_printf("%s:%u", check->refusal.other,
                                     target->port);
    if (check->protocol == GUEST_CHECK_TLS)
        return g_strdup_printf("raw:%s:%u", target->name, target->port);
    return check->protocol == GUEST_CHECK_UNKNOWN &&
                   target->kind == GUEST_CHECK_WEB
               ? g_strdup_printf("%s:%u", target->name, target->port)
               : NULL;
}

/* Refuse the connection; closing it at once would discard the answer. */
static void refuse(struct connection *connection, const char *reason)
{
    const char *other = connection->check.refusal.other;

    connection->refused = connection->reset = connection->drained = true;
    connection->reason = other[0] ? g_strdup_printf("%s (%s)", reason, other)
                                  : g_strdup(reason);
    connection->allow = find_entry(connection);
    answer_refusal(connection);
    close_server(connection);
    flow_clear(&connection->up);
    flow_clear(&connection->down);
    connection->connect_until = connection->head_until = 0;
    connection->drain_until = g_get_monotonic_time() + REFUSAL_TIME;
    if (shutdown(connection->guest_fd, SHUT_WR) < 0)
        end(connection, true, NULL);
}

/* ---- copying ------------------------------------------------------------- */

static void set_head_time(struct connection *connection, size_t held)
{
    if (!guest_check_is_urgent(&connection->check, held))
        connection->head_until = 0;
    else if (connection->head_until == 0 ||
             connection->heads != connection->check.http.count)
        connection->head_until = g_get_monotonic_time() + HEAD_TIME;
    connection->heads = connection->check.http.count;
}

/* Judge the guest's bytes that have not passed. */
static void judge(struct connection *connection)
{
    struct guest_check *check = &connection->check;
    struct flow *up = &connection->up;
    size_t length, passed = 0;
    const char *held = flow_held(up, &length);
    bool ok = length == 0 || guest_check_judge(check, held, length, &passed);

    up->passed += passed;
    length -= passed;
    if (ok && up->ended && length > 0) {
        ok = guest_check_end(check, held + passed, length);
        if (ok && !guest_check_waits(check)) {
            up->passed += length;
            length = 0;
        }
    }
    if (ok)
        set_head_time(connection, length);
    else
        refuse(connection, check->refusal.reason);
}

static void write_up(struct connection *connection)
{
    if (connection->server_fd >= 0 &&
        flow_write(&connection->up, connection->server_fd) < 0)
        end(connection, true, NULL);
}

static void write_down(struct connection *connection)
{
    if (flow_write(&connection->down, connection->guest_fd) < 0)
        end(connection, true, NULL);
}

static bool wants_guest(const struct connection *connection)
{
    return connection->drained || (flow_wants(&connection->up) &&
                                   !guest_check_waits(&connection->check));
}

static void read_guest(struct connection *connection)
{
    int n = flow_read(&connection->up, connection->guest_fd);

    if (connection->drained) {
        flow_clear(&connection->up);
        if (n < 0 || connection->up.ended)
            end(connection, true, NULL);
        return;
    }
    if (n < 0) {
        end(connection, true, NULL);
        return;
    }
    judge(connection);
    write_up(connection);
}

static void read_server(struct connection *connection)
{
    struct flow *down = &connection->down;
    int n = flow_read(down, connection->server_fd);
    const char *held;
    size_t length;

    if (n < 0) {
        end(connection, true, NULL);
        return;
    }
    held = flow_held(down, &length);
    if (length > 0 && guest_check_hear(&connection->check, held, length)) {
        judge(connection);
        if (connection->drained)
            return;
        write_up(connection);
    }
    down->passed += length;
    write_down(connection);
}

/* ---- the loop ------------------------------------------------------------ */

/* An end that is gone takes nothing, but what it has sent goes on. */
static void check_gone(struct connection *connection)
{
    const struct flow *up = &connection->up, *down = &connection->down;

    if (connection->drained)
        return;
    if ((flow_is_over(up) && flow_is_over(down)) ||
        (connection->guest_gone &&
         (connection->server_fd < 0 || flow_is_over(up))))
        end(connection, !flow_is_over(down), NULL);
    else if (connection->server_gone && flow_is_over(down))
        end(connection, true, NULL);
    else if (connection->guest_gone && connection->drain_until == 0)
        connection->drain_until = g_get_monotonic_time() + DRAIN_TIME;
}

/* Watch the sockets, or end the connection, which is then freed. */
static void settle(struct connection *connection)
{
    bool up = connection->up.passed > 0, down = connection->down.passed > 0;

    check_gone(connection);
    if (!connection->over &&
        poller_watch(connection->poller, &connection->guest,
                     connection->guest_fd,
                     (wants_guest(connection) ? EPOLLIN : 0) |
                         (down ? EPOLLOUT : 0)) < 0)
        end(connection, true, NULL);
    if (!connection->over && connection->server_fd >= 0 &&
        poller_watch(connection->poller, &connection->server,
                     connection->server_fd,
                     (flow_wants(&connection->down) ? EPOLLIN : 0) |
                         (up ? EPOLLOUT : 0)) < 0)
        end(connection, true, NULL);
    if (connection->over)
        report_end(connection);
}

static void on_guest(uint32_t events, void *opaque)
{
    struct connection *connection = opaque;

    if (events & EPOLLOUT && !connection->drained)
        write_down(connection);
    if (!connection->over && events & ~(uint32_t)EPOLLOUT &&
        wants_guest(connection))
        read_guest(connection);
    if (events & (EPOLLHUP | EPOLLERR) && !(events & EPOLLIN))
        connection->guest_gone = true;
    settle(connection);
}

static void on_server(uint32_t events, void *opaque)
{
    struct connection *connection = opaque;

    if (events & EPOLLOUT)
        write_up(connection);
    if (!connection->over && events & ~(uint32_t)EPOLLOUT &&
        flow_wants(&connection->down))
        read_server(connection);
    if (events & (EPOLLHUP | EPOLLERR) && connection->down.ended)
        connection->server_gone = true;
    settle(connection);
}

static void on_dialed(int fd, const struct network_address *address,
                      void *opaque)
{
    struct connection *connection = opaque;

    connection->connect_until = 0;
    if (fd >= 0) {
        connection->server_fd = fd;
        network_address_format(address, connection->address);
        write_up(connection);
    } else {
        g_autofree char *reason = g_strdup_printf("cannot connect: %s",
                                                  g_strerror(-fd));

        end(connection, true, reason);
    }
    settle(connection);
}

/* ---- interface ----------------------------------------------------------- */

struct connection *connection_new(struct poller *poller,
                                  const struct connection_target *target,
                                  int fd, connection_ended *ended, void *opaque)
{
    struct connection *connection = g_new0(struct connection, 1);

    connection->poller = connection->dial.poller = poller;
    connection->target = *target;
    connection->ended = ended;
    connection->opaque = opaque;
    connection->guest_fd = fd;
    connection->server_fd = -1;
    connection->guest.ready = on_guest;
    connection->server.ready = on_server;
    connection->dial.done = on_dialed;
    connection->guest.opaque = connection->server.opaque =
        connection->dial.opaque = connection;
    connection->started = g_get_monotonic_time();
    connection->connect_until = connection->started + CONNECT_TIME;
    guest_check_init(&connection->check, target->kind, connection->target.name,
                     target->port);
    set_head_time(connection, 0);
    if (poller_watch(poller, &connection->guest, fd, EPOLLIN) == 0)
        return connection;
    connection_free(connection);
    return NULL;
}

void connection_free(struct connection *connection)
{
    if (!connection)
        return;
    close_server(connection);
    poller_forget(connection->poller, &connection->guest);
    fd_close(&connection->guest_fd);
    flow_clear(&connection->up);
    flow_clear(&connection->down);
    g_free(connection->reason);
    g_free(connection->allow);
    g_free(connection);
}

const struct connection_target *
connection_target(const struct connection *connection)
{
    return &connection->target;
}

guint64 connection_from_guest(const struct connection *connection)
{
    return connection->up.total;
}

guint64 connection_to_guest(const struct connection *connection)
{
    return connection->down.total;
}

void connection_dial(struct connection *connection,
                     const struct network_address *addresses, unsigned count)
{
    if (connection->dialed || connection->drained || count == 0)
        return;
    connection->dialed = true;
    dial_start(&connection->dial, addresses, count, connection->target.port);
}

void connection_give_up(struct connection *connection, const char *allow,
                        const char *reason)
{
    if (connection->dialed || connection->drained)
        return;
    connection->refused = allow != NULL;
    connection->allow = g_strdup(allow);
    end(connection, true, reason);
    settle(connection);
}

unsigned connection_addresses(const struct connection *connection,
                              const struct network_address **ret_list)
{
    const struct dial *dial = &connection->dial;

    if (dial->next == 0)
        return 0;
    *ret_list = &dial->addresses[dial->next - 1];
    return connection->server_fd >= 0 ? 1 : dial->count - dial->next + 1;
}

void connection_revoke(struct connection *connection)
{
    connection->refused = true;
    end(connection, true, "the policy no longer allows the server's address");
    settle(connection);
}

void connection_tick(struct connection *connection, gint64 now)
{
    if (connection->connect_until > 0 && now >= connection->connect_until)
        end(connection, true, "cannot connect: no server answers in 15 s");
    else if (connection->drain_until > 0 && now >= connection->drain_until)
        end(connection, true, NULL);
    else if (connection->head_until > 0 && now >= connection->head_until) {
        connection->refused = connection->up.data != NULL;
        end(connection, true, "no complete request within 30 s");
    }
    if (connection->over)
        settle(connection);
    else
        dial_tick(&connection->dial, now);
}

bool connection_needs_ticks(const struct connection *connection)
{
    return connection->connect_until > 0 || connection->drain_until > 0 ||
           connection->head_until > 0;
}
