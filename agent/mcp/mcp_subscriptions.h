/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_subscriptions - what one client wants to be told.
 *
 * Up to 2025-11-25 it subscribes to resources one by one, and is told of
 * changes of the list without being asked. From 2026-07-28 on it opens streams
 * by "subscriptions/listen", each with a filter of its own; a stream is a call
 * that goes on until either side ends it.
 */
#ifndef AGENT_MCP_MCP_SUBSCRIPTIONS_H
#define AGENT_MCP_MCP_SUBSCRIPTIONS_H

#include <stdbool.h>

#include "agent/mcp/mcp_call.h"

enum {
    MCP_SUBSCRIPTIONS_MAX =
        256, /* resources of one client, streams' included */
    MCP_SUBSCRIPTIONS_URI_MAX = 8192,
};

struct mcp_subscriptions;

/* Both are borrowed. */
struct mcp_subscriptions *
mcp_subscriptions_new(const struct mcp_transport *transport,
                      struct mcp_connection *connection);
/* End the streams, in order: their calls get their results. */
void mcp_subscriptions_close(struct mcp_subscriptions *subscriptions);
void mcp_subscriptions_free(struct mcp_subscriptions *subscriptions);

/* The client has opened by "initialize": it is told of the list. */
void mcp_subscriptions_set_legacy(struct mcp_subscriptions *subscriptions);

/* False: there are too many, or the uri is too long. */
bool mcp_subscriptions_add(struct mcp_subscriptions *subscriptions,
                           const char *uri);
void mcp_subscriptions_remove(struct mcp_subscriptions *subscriptions,
                              const char *uri);

/* Open a stream: the call goes on as it. */
void mcp_subscriptions_listen(struct mcp_subscriptions *subscriptions,
                              struct mcp_call *call);
/* How many streams are open. */
unsigned
mcp_subscriptions_streams(const struct mcp_subscriptions *subscriptions);

/* A call is no more; if it was a stream, that has ended. */
void mcp_subscriptions_end(struct mcp_subscriptions *subscriptions,
                           struct mcp_call *call);

void mcp_subscriptions_tell_updated(struct mcp_subscriptions *subscriptions,
                                    const char *uri);
void mcp_subscriptions_tell_list(struct mcp_subscriptions *subscriptions);
void mcp_subscriptions_each(struct mcp_subscriptions *subscriptions,
                            void (*each)(const char *uri, void *opaque),
                            void *opaque);

#endif
