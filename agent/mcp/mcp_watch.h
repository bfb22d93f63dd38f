/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_watch - answer a call with what a process has done, now or soon.
 *
 * The result has the process's state and its output from an offset on, of both
 * streams in their order, shortened as that of execute_command. The answer
 * waits until new output has come and stopped for a moment, so that it has a
 * whole answer of an interpreter or all first lines of a server; or until the
 * process has ended, or the time is over.
 */
#ifndef AGENT_MCP_MCP_WATCH_H
#define AGENT_MCP_MCP_WATCH_H

#include <glib.h>
#include <stdbool.h>

#include "agent/mcp/mcp_call.h"
#include "agent/session/session_exec.h"

struct mcp_watch_options {
    gint64 id;       /* of the execution */
    guint64 since;   /* output before this offset is not reported */
    unsigned wait_s; /* 0: answer at once */
    bool until_end;  /* output does not end the wait */
};

/* Finish the call, at once or later. Cancelling it ends the wait, not the
 * process. */
void mcp_watch_begin(struct mcp_call *call,
                     const struct mcp_watch_options *options);

/* Find an execution; false: there is none. */
bool mcp_watch_find(struct session *session, gint64 id,
                    struct exec_info *ret_info);

#endif
