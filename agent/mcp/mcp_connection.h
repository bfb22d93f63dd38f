/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_connection - one client of an MCP server, on two fds or a socket.
 *
 * Each message is one line. The resources of a client are limited: line length,
 * waiting requests, questions, subscriptions. If a client does not read, its
 * notifications are dropped and its requests are not read.
 *
 * A client that closes its input but still reads gets answers to all its
 * requests, as "printf ... | stepback mcp" expects. Closing the input may also
 * mean that the server should end; a client that finds this too slow sends a
 * signal, which cancels all requests at once. A disconnect cancels them too.
 * Otherwise the requests may run for the server's linger time.
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

/* Takes the fds (which may be the same). closed is called once from the main
 * loop when the client has disconnected; it may free the connection. */
struct mcp_connection *
mcp_connection_new(struct mcp_registry *registry, int in_fd, int out_fd,
                   void (*closed)(struct mcp_connection *, void *opaque),
                   void *opaque);

/* Cancel the client's calls. Queued data is sent, if the client reads it within
 * flush_ms. */
void mcp_connection_free(struct mcp_connection *connection, int flush_ms);

/* ---- for methods --------------------------------------------------------- */

/* Store the result of "initialize". capabilities is borrowed. */
void mcp_connection_initialize(struct mcp_connection *connection,
                               enum mcp_version version, json_t *capabilities);
void mcp_connection_set_log_level(struct mcp_connection *connection, int level);
struct mcp_subscriptions *
mcp_connection_subscriptions(struct mcp_connection *connection);

/* Send a log message to a client that has used "logging/setLevel". data is
 * borrowed. */
void mcp_connection_log(struct mcp_connection *connection, const char *level,
                        const char *logger, json_t *data);

#endif
