/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_meta - the "_meta" of a self-contained MCP request.
 *
 * From 2026-07-28 on there is no "initialize": each request carries the version
 * and the client's capabilities.
 */
#ifndef AGENT_MCP_MCP_META_H
#define AGENT_MCP_MCP_META_H

#include <jansson.h>

#include "agent/mcp/mcp_call.h"

/* Above every level: no log messages. */
enum { MCP_META_NO_LOG = 8 };

/* Fill in version, capabilities (borrowed) and log_level from the params.
 * Return 0, or a JSON-RPC error with *ret_problem (static) and *ret_data (new,
 * or unchanged). */
int mcp_meta_read(struct mcp_call_config *config, const char **ret_problem,
                  json_t **ret_data);

#endif
