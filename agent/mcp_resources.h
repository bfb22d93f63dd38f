/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_resources - the working folder's files and the undo history, as MCP
 * resources.
 *
 *     stepback://files/PATH    a file; PATH is percent-encoded
 *     stepback://history       the steps that can be undone, as JSON
 *
 * The scheme is our own: a client must not take such a file for one of the
 * host's, as it might with file://.
 */
#ifndef AGENT_MCP_RESOURCES_H
#define AGENT_MCP_RESOURCES_H

#include <jansson.h>

#include "agent/mcp_call.h"

struct mcp_service_state;

void mcp_resources_list(struct mcp_call *call);
void mcp_resources_templates(struct mcp_call *call);
void mcp_resources_read(struct mcp_call *call);
void mcp_resources_complete(struct mcp_call *call);

/* A step's report, or another object with "affected_paths" or "paths", tells
 * what has changed: so do we those who asked. Borrowed. */
void mcp_resources_changed(struct mcp_service_state *service, json_t *report);
void mcp_resources_history_changed(struct mcp_service_state *service);

#endif
