/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_subscriptions - the notifications that one client wants.
 *
 * Up to 2025-11-25 a client subscribes to single resources and receives changes
 * of the resource list unasked. From 2026-07-28 on it opens streams with
 * "subscriptions/listen", each with its own filter; a stream is a call that
 * runs until either side ends it.
 */
#ifndef AGENT_MCP_MCP_SUBSCRIPTIONS_H
#define AGENT_MCP_MCP_SUBSCRIPTIONS_H

#include <stdbool.h>

#include "agent/mcp/mcp_call.h"

enum {
    MCP_SUBSCRIPTIONS_MAX = 256, /* resources per client, with streams */
    MCP_SUBSCRIPTIONS_URI_MAX = 8192,
};

struct mcp_subscriptions;

/* Both are borrowed. */
struct mcp_subscriptions *
mcp_subscriptions_new(const struct mcp_transport *transport,
                      struct mcp_connection *connection);
/* End the streams in order: their calls get their results. */
void mcp_subscriptions_close(struct mcp_subscriptions *subscriptions);
void mcp_subscriptions_free(struct mcp_subscriptions *subscriptions);

/* The client has used "initialize": notify it of list changes. */
void mcp_subscriptions_set_legacy(struct mcp_subscriptions *subscriptions);

/* Return false if there are too many, or the URI is too long. */
bool mcp_subscriptions_add(struct mcp_subscriptions *subscriptions,
                           const char *uri);
void mcp_subscriptions_remove(struct mcp_subscriptions *subscriptions,
                              const char *uri);

/* Open a stream; the call remains open as that stream. */
void mcp_subscriptions_listen(struct mcp_subscriptions *subscriptions,
                              struct mcp_call *call);
/* Return the number of open streams. */
unsigned
mcp_subscriptions_streams(const struct mcp_subscriptions *subscriptions);

/* A call has ended; if it was a stream, remove it. */
void mcp_subscriptions_end(struct mcp_subscriptions *subscriptions,
                           struct mcp_call *call);

void mcp_subscriptions_tell_updated(struct mcp_subscriptions *subscriptions,
                                    const char *uri);
void mcp_subscriptions_tell_list(struct mcp_subscriptions *subscriptions);
void mcp_subscriptions_each(struct mcp_subscriptions *subscriptions,
                            void (*each)(const char *uri, void *opaque),
                            void *opaque);

#endif
