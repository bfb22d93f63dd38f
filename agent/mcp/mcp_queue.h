/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_queue - serialise the calls that need the undo log.
 *
 * A session runs one command at a time, and its changes must be reported before
 * the next command changes files. Clients call several tools at once, so these
 * calls wait for each other.
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
    void (*cancel)(struct mcp_job *job); /* of a running job; may be NULL */
    void *data; /* the job's own, freed with g_free() */
};

struct mcp_queue *mcp_queue_new(void);
/* Running jobs must have ended. */
void mcp_queue_free(struct mcp_queue *queue);

/* Call start when it is this call's turn, never before this returns. Return the
 * job, or NULL: too many calls wait, and the call was refused. */
struct mcp_job *mcp_queue_add(struct mcp_queue *queue, struct mcp_call *call,
                              json_t *arguments,
                              void (*start)(struct mcp_job *job),
                              void (*cancel)(struct mcp_job *job));

/* A running job is over and its call was finished: free the job. */
void mcp_queue_end(struct mcp_job *job);

/* Return the running job's call, or NULL. */
struct mcp_call *mcp_queue_running(const struct mcp_queue *queue);

#endif
