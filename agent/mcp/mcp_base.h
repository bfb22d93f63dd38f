/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_base - the protocol's own methods.
 */
#ifndef AGENT_MCP_MCP_BASE_H
#define AGENT_MCP_MCP_BASE_H

#include "agent/mcp/mcp_registry.h"

extern const struct mcp_method mcp_base_methods[];

#endif
