/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_tools - a table of tools: "tools/list" and "tools/call".
 *
 * What clients are told of the tools is a text in JSON; it is also what their
 * arguments are checked against, so that neither can be forgotten. Arguments
 * that do not fit are answered with a result that says so ("isError"), because
 * a language model reads that; a tool that is unknown is an error of the
 * protocol.
 */
#ifndef AGENT_MCP_MCP_TOOLS_H
#define AGENT_MCP_MCP_TOOLS_H

#include <jansson.h>

#include "agent/mcp/mcp_call.h"

struct mcp_tool {
    const char *name; /* NULL ends a table */
    /* Finish the call; arguments is an object that fits, borrowed for the
     * life of the call. */
    void (*run)(struct mcp_call *call, json_t *arguments);
};

struct mcp_tools;

/* text: an array of tools as "tools/list" has them; it must be valid. table is
 * borrowed. */
struct mcp_tools *mcp_tools_new(const char *text, const struct mcp_tool *table);
void mcp_tools_free(struct mcp_tools *tools);

void mcp_tools_list(struct mcp_tools *tools, struct mcp_call *call);
void mcp_tools_call(struct mcp_tools *tools, struct mcp_call *call);

/* Finish a tool's call: with structured (taken), and the same as text; or with
 * a sentence of what is wrong, and with structured, which may be NULL. */
void mcp_tools_finish(struct mcp_call *call, json_t *structured);
void mcp_tools_refuse(struct mcp_call *call, json_t *structured,
                      const char *format, ...) G_GNUC_PRINTF(3, 4);

#endif
