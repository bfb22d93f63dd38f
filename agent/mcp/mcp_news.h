/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_news - telling MCP clients which resources have changed.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_MCP_MCP_NEWS_H
#define AGENT_MCP_MCP_NEWS_H

#include <jansson.h>

#include "agent/base/undo_result.h"

struct mcp_state;

/* A report tells which files are other than before. */
void mcp_news_of_report(struct mcp_state *service,
                        const struct step_report *report);

/* So does the payload of an engine's event: a report, or an edit by another
 * process. */
void mcp_news_of_engine(struct mcp_state *service, json_t *payload);

/* The history is another. */
void mcp_news_of_history(struct mcp_state *service);

/* Anything may be other than before, as with other working folders. */
void mcp_news_of_all(struct mcp_state *service);

#endif
