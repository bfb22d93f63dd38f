/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_news - notify MCP clients of changed resources.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_MCP_MCP_NEWS_H
#define AGENT_MCP_MCP_NEWS_H

#include <jansson.h>

#include "agent/base/undo_result.h"

struct mcp_state;

/* Notify of the files that a report lists as changed. */
void mcp_news_of_report(struct mcp_state *service,
                        const struct step_report *report);

/* The same for the payload of an engine's event: a report, or an outside
 * edit. */
void mcp_news_of_engine(struct mcp_state *service, json_t *payload);

/* The history has changed. */
void mcp_news_of_history(struct mcp_state *service);

/* Any resource may have changed, for example because the working folders
 * did. */
void mcp_news_of_all(struct mcp_state *service);

#endif
