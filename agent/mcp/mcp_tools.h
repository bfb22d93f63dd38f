/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_tools - a table of tools: "tools/list" and "tools/call".
 *
 * The definitions sent to clients are a JSON text, and arguments are validated
 * against the same text, so the two cannot diverge. Invalid arguments produce a
 * result with "isError", because a language model reads results; an unknown
 * tool is a protocol error.
 */
#ifndef AGENT_MCP_MCP_TOOLS_H
#define AGENT_MCP_MCP_TOOLS_H

#include <jansson.h>

#include "agent/mcp/mcp_call.h"

struct mcp_tool {
    const char *name; /* NULL: end of the table */
    /* Finish the call; arguments is a validated object, borrowed for the life
     * of the call. */
    void (*run)(struct mcp_call *call, json_t *arguments);
};

struct mcp_tools;

/* text: an array of tools in the form of "tools/list"; it must be valid. table
 * is borrowed. */
struct mcp_tools *mcp_tools_new(const char *text, const struct mcp_tool *table);
void mcp_tools_free(struct mcp_tools *tools);

void mcp_tools_list(struct mcp_tools *tools, struct mcp_call *call);
void mcp_tools_call(struct mcp_tools *tools, struct mcp_call *call);

/* Finish a tool's call: with structured (taken) and the same data as text, or
 * with a sentence about the problem and structured, which may be NULL. */
void mcp_tools_finish(struct mcp_call *call, json_t *structured);
void mcp_tools_refuse(struct mcp_call *call, json_t *structured,
                      const char *format, ...) G_GNUC_PRINTF(3, 4);

#endif
