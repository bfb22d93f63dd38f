/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_copy - the copies of the tools copy_in and copy_out that go through a
 * copy folder (mcp_copy_place.h); see mcp_state.h for the tools.
 *
 * The host's side of a copy is a process of its own, "stepback copy-worker":
 * the stream is the guest's, and a slow disk must not hold up the supervisor.
 */
#ifndef AGENT_MCP_MCP_COPY_H
#define AGENT_MCP_MCP_COPY_H

#include <jansson.h>

#include "agent/mcp/mcp_call.h"
#include "agent/mcp/mcp_copy_place.h"
#include "agent/session/session.h"

/* Copy, and finish the call. place is taken; guest_path is copied. */
void mcp_copy_begin(struct mcp_call *call, bool in,
                    struct mcp_copy_place *place, const char *host_path,
                    const char *guest_path);

/* The list of the service's copies that run. */
GPtrArray *mcp_copy_list_new(void);

/* The session says that a copy is over. */
void mcp_copy_take_event(GPtrArray *copies, const struct session_event *event);

#endif
