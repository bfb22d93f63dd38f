/* SPDX-License-Identifier: Apache-2.0
 *
 * connection - see connection.h.
 */
#include "proxy/connection.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "common/fd.h"
#include "proxy/connection_intercept.h"
#include "proxy/connection_parts.h"
#include "proxy/refusal_answer.h"

_Static_assert((int)FLOW_MAX >= (int)GUEST_CHECK_MAX,
               "a flow holds what is judged as a whole");

/* ---- the end ------------------------------------------------------------- */

void connection_describe(const struct connection *connection,
                         struct connection_report *ret_report)
{
    *ret_report = (struct connection_report){
        .target = &connection->target,
        .address = connection->address[0] ? connection->address : NULL,
        .refused = connection->refused,
        .reason = connection->reason,
        .allow = connection->allow,
        .from_guest = connection_from_guest(connection),
        .to_guest = connection_to_guest(connection),
        .milliseconds = (g_get_monotonic_time() - connection->started) / 1000,
    };
}

static void report_end(struct connection *connection)
{
    struct connection_report report;

    if (connection->intercepted)
        intercepted_stop(connection->intercepted);
    connection_describe(connection, &report);
    connection->ended(connection, &report, connection->opaque);
}

static void refuse(struct connection *connection)
{
    const struct guest_check *check = &connection->check;

    connection->refused = connection->reset = true;
    connection->reason = host_name_describe(&check->refusal);
    connection->allow = refusal_answer_find_entry(check,
                                                  connection->target.port);
    if (connection->down.total == 0 && check->http.count == 0)
        refusal_answer_send(connection->guest_fd, check, connection->reason);
    connection_parts_drain(connection);
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

    if (ok && guest_check_is_intercepted(check)) {
        connection_intercept_start(connection, held, length);
        return;
    }
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
        refuse(connection);
}

static void write_up(struct connection *connection)
{
    if (connection->server_fd >= 0 && !connection->intercepted &&
        flow_write(&connection->up, connection->server_fd) < 0)
        connection_parts_end(connection, true, NULL);
}

static void write_down(struct connection *connection)
{
    if (flow_write(&connection->down, connection->guest_fd) < 0)
        connection_parts_end(connection, true, NULL);
}

static bool wants_guest(const struct connection *connection)
{
    return connection->drained || (flow_wants(&connection->up) &&
                                   !guest_check_waits(&connection->check));
}

/* Before interception begins, no byte of the server may pass. */
static bool wants_server(const struct connection *connection)
{
    return flow_wants(&connection->down) &&
           connection->target.kind != GUEST_CHECK_INTERCEPT;
}

static void read_guest(struct connection *connection)
{
    int n = flow_read(&connection->up, connection->guest_fd);

    if (connection->drained) {
        flow_clear(&connection->up);
        if (n < 0 || connection->up.ended)
            connection_parts_end(connection, true, NULL);
        return;
    }
    if (n < 0) {
        connection_parts_end(connection, true, NULL);
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
        connection_parts_end(connection, true, NULL);
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

    if (connection->drained || connection->over)
        return;
    if (connection->intercepted)
        connection_intercept_check_gone(connection);
    else if ((flow_is_over(up) && flow_is_over(down)) ||
             (connection->guest_gone &&
              (connection->server_fd < 0 || flow_is_over(up))))
        connection_parts_end(connection, !flow_is_over(down), NULL);
    else if (connection->server_gone && flow_is_over(down))
        connection_parts_end(connection, true, NULL);
    else if (connection->guest_gone && connection->drain_until == 0)
        connection->drain_until = g_get_monotonic_time() + DRAIN_TIME;
}

static uint32_t guest_events(const struct connection *connection)
{
    if (connection_intercept_is_on(connection))
        return intercepted_events(connection->intercepted, HTTP_GUEST);
    return (wants_guest(connection) ? EPOLLIN : 0) |
           (connection->down.passed > 0 ? EPOLLOUT : 0);
}

static uint32_t server_events(const struct connection *connection)
{
    if (connection_intercept_is_on(connection))
        return intercepted_events(connection->intercepted, HTTP_SERVER);
    return (wants_server(connection) ? EPOLLIN : 0) |
           (connection->up.passed > 0 ? EPOLLOUT : 0);
}

/* Watch the sockets, or end the connection, which is then freed. */
static void settle(struct connection *connection)
{
    check_gone(connection);
    if (!connection->over &&
        poller_watch(connection->poller, &connection->guest,
                     connection->guest_fd, guest_events(connection)) < 0)
        connection_parts_end(connection, true, NULL);
    if (!connection->over && connection->server_fd >= 0 &&
        poller_watch(connection->poller, &connection->server,
                     connection->server_fd, server_events(connection)) < 0)
        connection_parts_end(connection, true, NULL);
    if (connection->over)
        report_end(connection);
}

static void on_guest(uint32_t events, void *opaque)
{
    struct connection *connection = opaque;

    if (connection_intercept_is_on(connection))
        connection_intercept_run(connection);
    else if (events & EPOLLOUT && !connection->drained)
        write_down(connection);
    if (!connection->over && !connection_intercept_is_on(connection) &&
        events & ~(uint32_t)EPOLLOUT && wants_guest(connection))
        read_guest(connection);
    if (events & (EPOLLHUP | EPOLLERR) && !(events & EPOLLIN))
        connection->guest_gone = true;
    settle(connection);
}

static void on_server(uint32_t events, void *opaque)
{
    struct connection *connection = opaque;

    if (connection_intercept_is_on(connection)) {
        connection_intercept_run(connection);
        settle(connection);
        return;
    }
    if (events & EPOLLOUT)
        write_up(connection);
    if (!connection->over && events & ~(uint32_t)EPOLLOUT &&
        wants_server(connection))
        read_server(connection);
    if (events & (EPOLLHUP | EPOLLERR) && connection->down.ended)
        connection->server_gone = true;
    settle(connection);
}

/* fd: to the server; or -1, and problem is the reason. */
static void on_reached(int fd, const char *problem, void *opaque)
{
    struct connection *connection = opaque;

    connection->connect_until = 0;
    if (fd >= 0) {
        connection->server_fd = fd;
        if (connection_intercept_is_on(connection)) {
            intercepted_connect(connection->intercepted, fd);
            connection_intercept_run(connection);
        }
        write_up(connection);
    } else {
        connection_intercept_fail(connection, problem);
    }
    settle(connection);
}

static void on_dialed(int fd, const struct network_address *address,
                      void *opaque)
{
    struct connection *connection = opaque;
    bool upstream = connection->upstream.used;
    g_autofree char *problem = NULL;

    if (fd >= 0)
        network_address_format(address, connection->address);
    if (fd >= 0 && upstream) {
        connection->connect_until = g_get_monotonic_time() + UPSTREAM_TIME;
        upstream_start(&connection->upstream, fd);
        return;
    }
    if (fd < 0)
        problem = g_strdup_printf("cannot connect%s: %s",
                                  upstream ? " to the upstream proxy" : "",
                                  g_strerror(-fd));
    on_reached(fd, problem, connection);
}

/* ---- interface ----------------------------------------------------------- */

struct connection *connection_new(struct poller *poller,
                                  const struct connection_target *target,
                                  const struct interception *interception,
                                  int fd, connection_ended *ended, void *opaque)
{
    struct connection *connection = g_new0(struct connection, 1);

    connection->poller = connection->dial.poller = poller;
    connection->upstream.poller = poller;
    connection->target = *target;
    connection->interception = interception;
    connection->ended = ended;
    connection->opaque = opaque;
    connection->guest_fd = fd;
    connection->server_fd = -1;
    connection->guest.ready = on_guest;
    connection->server.ready = on_server;
    connection->dial.done = on_dialed;
    connection->upstream.done = on_reached;
    connection->guest.opaque = connection->server.opaque =
        connection->dial.opaque = connection->upstream.opaque = connection;
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
    connection_parts_close_server(connection);
    poller_forget(connection->poller, &connection->guest);
    intercepted_free(connection->intercepted);
    fd_close(&connection->guest_fd);
    flow_clear(&connection->up);
    flow_clear(&connection->down);
    g_free(connection->reason);
    g_free(connection->allow);
    g_free(connection->no_server);
    g_free(connection);
}

const struct connection_target *
connection_target(const struct connection *connection)
{
    return &connection->target;
}

guint64 connection_from_guest(const struct connection *connection)
{
    return connection->up.total +
           (connection->intercepted
                ? intercepted_sent(connection->intercepted, HTTP_SERVER)
                : 0);
}

guint64 connection_to_guest(const struct connection *connection)
{
    return connection->down.total +
           (connection->intercepted
                ? intercepted_sent(connection->intercepted, HTTP_GUEST)
                : 0);
}

void connection_dial(struct connection *connection,
                     const struct network_address *addresses, unsigned count,
                     const struct upstream_server *upstream)
{
    const struct connection_target *target = &connection->target;

    if (connection->dialed || connection->drained || count == 0)
        return;
    connection->dialed = true;
    if (upstream)
        upstream_prepare(&connection->upstream, upstream, target->name,
                         target->port);
    dial_start(&connection->dial, addresses, count,
               upstream ? upstream->port : target->port);
}

void connection_give_up(struct connection *connection, const char *allow,
                        const char *reason)
{
    if (connection->dialed || connection->drained)
        return;
    connection->dialed = true;
    connection->refused = allow != NULL;
    connection->allow = g_strdup(allow);
    connection_intercept_fail(connection, reason);
    settle(connection);
}

unsigned connection_addresses(const struct connection *connection,
                              const struct network_address **ret_list)
{
    const struct dial *dial = &connection->dial;

    if (dial->next == 0 || connection->upstream.used)
        return 0;
    *ret_list = &dial->addresses[dial->next - 1];
    return connection->server_fd >= 0 ? 1 : dial->count - dial->next + 1;
}

bool connection_is_allowed(const struct connection *connection)
{
    return !connection->intercepted ||
           intercepted_is_allowed(connection->intercepted);
}

void connection_revoke(struct connection *connection, const char *reason)
{
    connection->refused = true;
    connection_parts_end(connection, true, reason);
    settle(connection);
}

void connection_go_on(struct connection *connection)
{
    if (!connection_intercept_is_on(connection))
        return;
    connection_intercept_run(connection);
    settle(connection);
}

void connection_tick(struct connection *connection, gint64 now)
{
    const char *upstream = upstream_describe_silence(&connection->upstream);

    if (connection->connect_until > 0 && now >= connection->connect_until)
        connection_intercept_fail(
            connection,
            upstream ? upstream : "cannot connect: no server answers in 15 s");
    else if (connection->drain_until > 0 && now >= connection->drain_until)
        connection_parts_end(connection, true, NULL);
    else if (connection->head_until > 0 && now >= connection->head_until) {
        connection->refused = connection->up.data != NULL;
        connection_parts_end(connection, true,
                             "no complete request within 30 s");
    }
    connection_intercept_tick(connection, now);
    if (connection->over || connection->drained)
        settle(connection);
    else
        dial_tick(&connection->dial, now);
}

bool connection_needs_ticks(const struct connection *connection)
{
    return connection->connect_until > 0 || connection->drain_until > 0 ||
           connection->head_until > 0 ||
           (connection_intercept_is_on(connection) &&
            intercepted_until(connection->intercepted) > 0);
}
