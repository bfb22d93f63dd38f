/* SPDX-License-Identifier: Apache-2.0
 *
 * connection_intercept - see connection_intercept.h.
 */
#include "proxy/connection_intercept.h"

bool connection_intercept_is_on(const struct connection *connection)
{
    return connection->intercepted && !connection->drained;
}

static void conclude(struct connection *connection,
                     enum intercepted_status status)
{
    struct intercepted_end last;

    if (status == INTERCEPTED_RUNS)
        return;
    last = intercepted_get_end(connection->intercepted);
    connection->refused = connection->refused || last.refused;
    if (!connection->allow)
        connection->allow = g_strdup(last.allow);
    if (status == INTERCEPTED_BROKEN) {
        connection_parts_end(connection, true, last.reason);
        return;
    }
    connection->reason = g_strdup(last.reason);
    connection->reset = status == INTERCEPTED_ENDED;
    connection_parts_drain(connection);
}

void connection_intercept_run(struct connection *connection)
{
    conclude(connection, intercepted_run(connection->intercepted));
}

void connection_intercept_fail(struct connection *connection,
                               const char *reason)
{
    connection->connect_until = 0;
    if (connection_intercept_is_on(connection))
        conclude(connection, intercepted_fail(connection->intercepted, reason));
    else if (connection->target.kind != GUEST_CHECK_INTERCEPT)
        connection_parts_end(connection, true, reason);
    else if (!connection->no_server)
        connection->no_server = g_strdup(reason);
}

void connection_intercept_start(struct connection *connection,
                                const char *bytes, size_t length)
{
    const struct connection_target *target = &connection->target;

    connection->head_until = 0;
    connection->intercepted = intercepted_new(
        connection->interception, target->id, target->name, target->port,
        connection->guest_fd, connection->check.protocol == GUEST_CHECK_HELLO,
        bytes, length);
    if (connection->intercepted && connection->server_fd >= 0)
        intercepted_connect(connection->intercepted, connection->server_fd);
    flow_clear(&connection->up);
    if (!connection->intercepted) {
        connection_parts_end(connection, true, "no memory for a TLS session");
        return;
    }
    connection_intercept_run(connection);
    if (connection->no_server && !connection->drained && !connection->over)
        connection_intercept_fail(connection, connection->no_server);
}

/* The bytes that the guest sent before its end are still relayed. */
void connection_intercept_check_gone(struct connection *connection)
{
    if (!connection->guest_gone)
        return;
    intercepted_lose_guest(connection->intercepted);
    connection_intercept_run(connection);
    if (connection->drain_until == 0)
        connection->drain_until = g_get_monotonic_time() + DRAIN_TIME;
}

void connection_intercept_tick(struct connection *connection, gint64 now)
{
    gint64 until;

    if (!connection_intercept_is_on(connection) || connection->over)
        return;
    until = intercepted_until(connection->intercepted);
    if (until > 0 && now >= until)
        conclude(connection, intercepted_expire(connection->intercepted));
}
