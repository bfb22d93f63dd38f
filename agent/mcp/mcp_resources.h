/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_resources - the working folders' files and the undo history, as MCP
 * resources; mcp_folders.h has their URIs.
 */
#ifndef AGENT_MCP_MCP_RESOURCES_H
#define AGENT_MCP_MCP_RESOURCES_H

#include "agent/mcp/mcp_call.h"

void mcp_resources_list(struct mcp_call *call);
void mcp_resources_templates(struct mcp_call *call);
void mcp_resources_read(struct mcp_call *call);
void mcp_resources_complete(struct mcp_call *call);

#endif
