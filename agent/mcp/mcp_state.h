/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_state - state shared by the tools and resources of the MCP server.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_MCP_MCP_STATE_H
#define AGENT_MCP_MCP_STATE_H

#include <jansson.h>

#include "agent/mcp/mcp_host.h"
#include "agent/mcp/mcp_queue.h"
#include "agent/mcp/mcp_server.h"
#include "agent/mcp/mcp_tools.h"

/* Why the last safeguard decision was no. */
enum mcp_denial {
    MCP_DENIED_BY_USER,
    MCP_DENIED_UNANSWERED,
    MCP_DENIED_UNASKED, /* the client cannot ask its user */
};

struct mcp_state {
    const struct mcp_host *host;
    void *host_opaque;
    struct mcp_server *server;
    struct mcp_queue *queue;
    struct mcp_tools *tools;
    struct mcp_elicit *elicit;
    bool has_frontend; /* that decides, too (mcp_elicit.h) */
    enum mcp_denial denial;
    GPtrArray *copies; /* mcp_copy.h: those that run */
};

struct mcp_state *mcp_state_of(const struct mcp_call *call);

/* Return an error's message with its remedy, if there is one: a new string. */
char *mcp_state_advice(const struct mcp_call *call, const GError *error);
/* Finish the call with that text as the result of a tool. */
void mcp_state_refuse(struct mcp_call *call, const GError *error);

/* Copy a report (or NULL) without the members that a model does not need: a new
 * object. */
json_t *mcp_state_report(const struct step_report *report);

/* Return whether the session has several working folders. */
bool mcp_state_has_folders(struct mcp_state *service);

/* The file that a tool's arguments refer to. An absolute guest path is made
 * relative to the folder that is mounted there. */
struct mcp_place {
    const char *path; /* relative; points into the arguments */
    struct folder_ref directory;
};
struct mcp_place mcp_state_place(struct mcp_state *service, json_t *arguments);

/* The tools. */
void mcp_tool_execute(struct mcp_call *call, json_t *arguments);
void mcp_tool_read_file(struct mcp_call *call, json_t *arguments);
void mcp_tool_write_file(struct mcp_call *call, json_t *arguments);
void mcp_tool_edit_file(struct mcp_call *call, json_t *arguments);
void mcp_tool_list_directory(struct mcp_call *call, json_t *arguments);
void mcp_tool_undo(struct mcp_call *call, json_t *arguments);
void mcp_tool_redo(struct mcp_call *call, json_t *arguments);
void mcp_tool_diff(struct mcp_call *call, json_t *arguments);
void mcp_tool_history(struct mcp_call *call, json_t *arguments);
void mcp_tool_status(struct mcp_call *call, json_t *arguments);
void mcp_tool_start_process(struct mcp_call *call, json_t *arguments);
void mcp_tool_read_process(struct mcp_call *call, json_t *arguments);
void mcp_tool_write_process(struct mcp_call *call, json_t *arguments);
void mcp_tool_stop_process(struct mcp_call *call, json_t *arguments);
void mcp_tool_list_processes(struct mcp_call *call, json_t *arguments);
void mcp_tool_publish_port(struct mcp_call *call, json_t *arguments);
void mcp_tool_unpublish_port(struct mcp_call *call, json_t *arguments);
/* copy_in and copy_out. */
void mcp_tool_copy(struct mcp_call *call, json_t *arguments);
void mcp_tool_request_access(struct mcp_call *call, json_t *arguments);

#endif
