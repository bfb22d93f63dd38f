/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_news - telling MCP clients which resources have changed.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_MCP_MCP_NEWS_H
#define AGENT_MCP_MCP_NEWS_H

#include <jansson.h>

struct mcp_state;

/* A step's report, or another object with "affected_paths" or "paths", tells
 * what has changed: so do we those who asked. Borrowed. */
void mcp_news_of_report(struct mcp_state *service, json_t *report);
void mcp_news_of_history(struct mcp_state *service);

/* Anything may be other than before, as with other working folders. */
void mcp_news_of_all(struct mcp_state *service);

#endif
