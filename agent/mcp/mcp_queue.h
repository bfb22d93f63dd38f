/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_queue - calls that take turns.
 *
 * A session runs one command at a time, and what it did must be told before the
 * next one changes something. So calls that need the undo log wait for each
 * other; clients call several tools at once.
 */
#ifndef AGENT_MCP_MCP_QUEUE_H
#define AGENT_MCP_MCP_QUEUE_H

#include <jansson.h>
#include <stdbool.h>

#include "agent/mcp/mcp_call.h"

enum { MCP_QUEUE_MAX = 64 };

struct mcp_queue;

struct mcp_job {
    struct mcp_queue *queue;
    struct mcp_call *call;
    json_t *arguments; /* borrowed from the call */
    bool running, cancelled;
    void (*start)(struct mcp_job *job);
    void (*cancel)(struct mcp_job *job); /* while it runs; may be NULL */
    void *data;                          /* the job's own, g_free()d */
};

struct mcp_queue *mcp_queue_new(void);
/* Jobs that run must have ended. */
void mcp_queue_free(struct mcp_queue *queue);

/* Have start called when it is this call's turn. If there are too many, the
 * call is refused. */
void mcp_queue_add(struct mcp_queue *queue, struct mcp_call *call,
                   json_t *arguments, void (*start)(struct mcp_job *job),
                   void (*cancel)(struct mcp_job *job));

/* A job that ran is over, and its call finished: it is freed. */
void mcp_queue_end(struct mcp_job *job);

/* The call whose turn it is, or NULL. */
struct mcp_call *mcp_queue_running(const struct mcp_queue *queue);

#endif
