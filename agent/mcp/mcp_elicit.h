/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_elicit - asking an MCP client's user about a safeguard.
 *
 * A safeguard that a tool's call has triggered is shown to the frontend, and to
 * the user of the client that called, if that client can ask ("elicitation").
 * The frontend's word is final: if there is a frontend, it has a time to
 * decide, and only after that the client's answer counts. Without one, whoever
 * cannot be asked, or does not say yes or no, has said no. Each folder's
 * decision is a question of its own.
 */
#ifndef AGENT_MCP_MCP_ELICIT_H
#define AGENT_MCP_MCP_ELICIT_H

#include <jansson.h>

struct mcp_elicit;
struct mcp_state;

struct mcp_elicit *mcp_elicit_new(struct mcp_state *service, unsigned grace_ms);
void mcp_elicit_free(struct mcp_elicit *elicit);

/* The events of the control protocol; payload is borrowed. */
void mcp_elicit_triggered(struct mcp_elicit *elicit, json_t *payload);
void mcp_elicit_decided(struct mcp_elicit *elicit, json_t *payload);

#endif
