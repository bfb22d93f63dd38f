/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_elicit - ask an MCP client's user about a safeguard.
 *
 * A safeguard that a tool call has triggered is shown to the frontend, and to
 * the user of the calling client if that client supports "elicitation". The
 * frontend's answer is final: if there is a frontend, it has some time to
 * decide, and only after that the client's answer counts. Without a frontend, a
 * client that cannot ask, or answers neither yes nor no, counts as no. Each
 * folder's decision is a separate question.
 */
#ifndef AGENT_MCP_MCP_ELICIT_H
#define AGENT_MCP_MCP_ELICIT_H

#include <jansson.h>

struct mcp_elicit;
struct mcp_state;

struct mcp_elicit *mcp_elicit_new(struct mcp_state *service, unsigned grace_ms);
void mcp_elicit_free(struct mcp_elicit *elicit);

/* Events of the control protocol; payload is borrowed. */
void mcp_elicit_triggered(struct mcp_elicit *elicit, json_t *payload);
void mcp_elicit_decided(struct mcp_elicit *elicit, json_t *payload);

#endif
