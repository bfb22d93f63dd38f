/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_service - Stepback as an MCP server: its tools and resources over a
 * session.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_MCP_MCP_SERVICE_H
#define AGENT_MCP_MCP_SERVICE_H

#include <jansson.h>

#include "agent/mcp/mcp_host.h"
#include "agent/mcp/mcp_queue.h"
#include "agent/mcp/mcp_server.h"
#include "agent/mcp/mcp_tools.h"

/* Why the last decision of a safeguard was no. */
enum mcp_denial {
    MCP_DENIED_BY_USER,
    MCP_DENIED_UNANSWERED,
    MCP_DENIED_UNASKED, /* nobody can be asked */
};

struct mcp_service_state {
    const struct mcp_host *host;
    void *host_opaque;
    struct mcp_server *server;
    struct mcp_queue *queue;
    struct mcp_tools *tools;
    struct mcp_elicit *elicit;
    enum mcp_denial denial;
};

/* host is borrowed for its life. grace_ms: how long a frontend has to decide on
 * a safeguard, before the word of an MCP client counts; 0: there is none. */
struct mcp_service_state *mcp_service_new(const struct mcp_host *host,
                                          void *opaque, unsigned grace_ms);

/* Leave the clients; their calls are cancelled. */
void mcp_service_close(struct mcp_service_state *service);
/* Commands that ran must have ended. NULL is allowed. */
void mcp_service_free(struct mcp_service_state *service);

struct mcp_server *mcp_service_server(struct mcp_service_state *service);

/* An event of the session; payload is borrowed. */
void mcp_service_take_event(struct mcp_service_state *service, const char *type,
                            json_t *payload);

/* A session runs that did not, or none runs any more. */
void mcp_service_take_folders(struct mcp_service_state *service);

/* ---- for the parts ------------------------------------------------------- */

struct mcp_service_state *mcp_service_of(const struct mcp_call *call);

/* What went wrong, with what can be done about it: a new string. */
char *mcp_service_advice(const struct mcp_call *call, const GError *error);
/* The same as the result of a tool. */
void mcp_service_refuse(struct mcp_call *call, const GError *error);

/* A report without what a model does not need: a new object. */
json_t *mcp_service_report(json_t *report);

/* The file that a tool's arguments mean. A path may be one of the guest's: then
 * it is relative to the folder that the guest has there. */
struct mcp_place {
    const char *path;  /* relative; within the arguments */
    json_t *directory; /* as in mcp_host.h; a reference of its own, or NULL */
};
struct mcp_place mcp_service_place(struct mcp_service_state *service,
                                   json_t *arguments);

/* The tools. */
void mcp_tool_execute(struct mcp_call *call, json_t *arguments);
void mcp_tool_read_file(struct mcp_call *call, json_t *arguments);
void mcp_tool_write_file(struct mcp_call *call, json_t *arguments);
void mcp_tool_edit_file(struct mcp_call *call, json_t *arguments);
void mcp_tool_list_directory(struct mcp_call *call, json_t *arguments);
void mcp_tool_undo(struct mcp_call *call, json_t *arguments);
void mcp_tool_history(struct mcp_call *call, json_t *arguments);
void mcp_tool_status(struct mcp_call *call, json_t *arguments);

#endif
