/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_guest - what a language model should know of its sandbox beforehand.
 */
#ifndef AGENT_MCP_MCP_GUEST_H
#define AGENT_MCP_MCP_GUEST_H

#include "agent/machine/session_config.h"

/* Return the server's instructions, a new string. config is borrowed; NULL: no
 * session runs. */
char *mcp_guest_instructions(const struct session_config *config);

#endif
