/* SPDX-License-Identifier: Apache-2.0
 *
 * connection_parts - see connection_parts.h.
 */
#include "proxy/connection_parts.h"

#include <sys/socket.h>

#include "common/fd.h"

void connection_parts_end(struct connection *connection, bool reset,
                          const char *reason)
{
    connection->over = true;
    connection->reset = connection->reset || reset;
    if (reason && !connection->reason)
        connection->reason = g_strdup(reason);
}

void connection_parts_close_server(struct connection *connection)
{
    /* Closing then sends a reset. */
    const struct linger at_once = { .l_onoff = 1 };

    dial_stop(&connection->dial);
    upstream_stop(&connection->upstream);
    if (connection->server_fd < 0)
        return;
    if (connection->reset)
        setsockopt(connection->server_fd, SOL_SOCKET, SO_LINGER, &at_once,
                   sizeof(at_once));
    poller_forget(connection->poller, &connection->server);
    fd_close(&connection->server_fd);
}

void connection_parts_drain(struct connection *connection)
{
    connection->drained = true;
    connection_parts_close_server(connection);
    flow_clear(&connection->up);
    flow_clear(&connection->down);
    connection->connect_until = connection->head_until = 0;
    connection->drain_until = g_get_monotonic_time() + REFUSAL_TIME;
    if (shutdown(connection->guest_fd, SHUT_WR) < 0)
        connection_parts_end(connection, true, NULL);
}
