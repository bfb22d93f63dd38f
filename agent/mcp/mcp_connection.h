/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_connection - one client of an MCP server, on two fds or a socket.
 *
 * A message a line. What one client can hold is bounded: the length of a line,
 * requests that wait, questions, subscriptions. A client that does not read
 * loses notifications, and its further requests are not read.
 *
 * A client that sends no more, and still reads, gets answers to all that it has
 * asked, as is expected of "printf ... | stepback mcp". But by closing its
 * input a client may also mean to end the server; then it sends a signal if
 * that takes too long, which cancels all at once. So does a client that is
 * gone. One that does neither has the server's time to linger.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_MCP_MCP_CONNECTION_H
#define AGENT_MCP_MCP_CONNECTION_H

#include <jansson.h>
#include <stdbool.h>

#include "agent/mcp/mcp_call.h"

enum {
    MCP_CONNECTION_MAX_LINE = 4 << 20,
    MCP_CONNECTION_MAX_QUEUE = 4 << 20,
    MCP_CONNECTION_MAX_CALLS = 64,
};

/* Takes the fds (which may be one). closed is called once when the client is
 * gone, from the main loop; it may free the connection. */
struct mcp_connection *
mcp_connection_new(struct mcp_registry *registry, int in_fd, int out_fd,
                   void (*closed)(struct mcp_connection *, void *opaque),
                   void *opaque);

/* Its calls are cancelled. What is queued is sent, if the client takes it
 * within flush_ms. */
void mcp_connection_free(struct mcp_connection *connection, int flush_ms);

/* ---- for methods --------------------------------------------------------- */

/* "initialize": what was agreed on. capabilities is borrowed. */
void mcp_connection_initialize(struct mcp_connection *connection,
                               enum mcp_version version, json_t *capabilities);
void mcp_connection_set_log_level(struct mcp_connection *connection, int level);
struct mcp_subscriptions *
mcp_connection_subscriptions(struct mcp_connection *connection);

/* Messages to a client that has asked for them by "logging/setLevel". data is
 * borrowed. */
void mcp_connection_log(struct mcp_connection *connection, const char *level,
                        const char *logger, json_t *data);

#endif
