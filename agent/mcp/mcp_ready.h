/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_ready - begin a call that needs a session but not the undo log.
 *
 * Such calls do not wait for commands: a model reads a server's output, or
 * publishes its port, while another client's command runs.
 */
#ifndef AGENT_MCP_MCP_READY_H
#define AGENT_MCP_MCP_READY_H

#include <jansson.h>

#include "agent/mcp/mcp_call.h"
#include "agent/session/session.h"

/* Call begin at once, or after an own session has started. It finishes the
 * call, and may set its cancel handler. If the session cannot start, the call
 * is refused. */
void mcp_ready_run(struct mcp_call *call, json_t *arguments,
                   void (*begin)(struct mcp_call *call, json_t *arguments));

/* Return the session, borrowed; it may have ended. */
struct session *mcp_ready_session(const struct mcp_call *call);

#endif
