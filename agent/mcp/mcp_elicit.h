/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_elicit - ask an MCP client's user about a safeguard, or about a
 * connection of the guest.
 *
 * A safeguard that a tool call has triggered is shown to the frontend, and to
 * the user of the calling client if that client supports "elicitation". The
 * frontend's answer is final: if there is a frontend, it has some time to
 * decide, and only after that the client's answer counts. Without a frontend, a
 * client that cannot ask, or answers neither yes nor no, counts as no. Each
 * folder's decision is a separate question.
 *
 * A connection that is held (session_asks.h) while a call runs is shown in the
 * same way, but the first answer counts.
 */
#ifndef AGENT_MCP_MCP_ELICIT_H
#define AGENT_MCP_MCP_ELICIT_H

#include <jansson.h>
#include <stdbool.h>

struct approval;
struct mcp_elicit;
struct mcp_state;

struct mcp_elicit *mcp_elicit_new(struct mcp_state *service, unsigned grace_ms);
void mcp_elicit_free(struct mcp_elicit *elicit);

/* Events of the control protocol; payload is borrowed. */
void mcp_elicit_triggered(struct mcp_elicit *elicit, json_t *payload);
void mcp_elicit_decided(struct mcp_elicit *elicit, json_t *payload);

/* A request of the session's queue waits, or is over; those for folders are
 * ignored (mcp_access.c). */
void mcp_elicit_take_approval(struct mcp_elicit *elicit,
                              const struct approval *approval);

/* The user allowed this connection always, which failed: ask whether it is
 * allowed once. Return false if the call is over or the client cannot ask. */
bool mcp_elicit_ask_once(struct mcp_elicit *elicit,
                         const struct approval *approval, const char *problem);

#endif
