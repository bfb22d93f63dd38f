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

/* Finish a tool's call with a text for the model, which must not be empty, and
 * the same data as structured content. Both are taken. */
void mcp_tools_finish(struct mcp_call *call, char *text, json_t *structured);
/* The same after an error, which a sentence describes: the text is what
 * happened before it; NULL: nothing. */
void mcp_tools_fail(struct mcp_call *call, const char *sentence, char *text,
                    json_t *structured);
/* Finish it with a sentence about the problem alone. */
void mcp_tools_refuse(struct mcp_call *call, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

#endif
