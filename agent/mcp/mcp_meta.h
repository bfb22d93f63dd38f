/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_meta - the "_meta" of an MCP request that carries all itself.
 *
 * From 2026-07-28 on there is no "initialize": each request has the version and
 * what the client can.
 */
#ifndef AGENT_MCP_MCP_META_H
#define AGENT_MCP_MCP_META_H

#include <jansson.h>

#include "agent/mcp/mcp_call.h"

/* More than any level: no messages are wanted. */
enum { MCP_META_NO_LOG = 8 };

/* Fill in version, capabilities (borrowed) and log_level from the params. 0, or
 * a JSON-RPC error with *ret_problem (static) and *ret_data (new, or left
 * alone). */
int mcp_meta_read(struct mcp_call_config *config, const char **ret_problem,
                  json_t **ret_data);

#endif
