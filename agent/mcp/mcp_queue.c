/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_queue - see mcp_queue.h.
 */
#include "agent/mcp/mcp_queue.h"

struct mcp_queue {
    GQueue waiting;          /* of struct mcp_job */
    struct mcp_job *running; /* or NULL */
    guint source;
};

static gboolean start_next(gpointer data)
{
    struct mcp_queue *queue = data;

    queue->source = 0;
    if (!queue->running && !g_queue_is_empty(&queue->waiting)) {
        queue->running = g_queue_pop_head(&queue->waiting);
        queue->running->running = true;
        queue->running->start(queue->running);
    }
    return G_SOURCE_REMOVE;
}

/* From the main loop, so that jobs that end at once do not nest on the
 * stack. */
static void wake(struct mcp_queue *queue)
{
    if (!queue->source && !queue->running && !g_queue_is_empty(&queue->waiting))
        queue->source = g_idle_add_full(G_PRIORITY_DEFAULT, start_next, queue,
                                        NULL);
}

static void job_free(struct mcp_job *job)
{
    g_free(job->data);
    g_free(job);
}

static void on_cancelled(struct mcp_call *call, void *opaque)
{
    struct mcp_job *job = opaque;

    job->cancelled = true;
    if (!job->running) {
        g_queue_remove(&job->queue->waiting, job);
        job_free(job);
        mcp_call_finish(call, json_object());
    } else if (job->cancel) {
        job->cancel(job);
    }
}

struct mcp_job *mcp_queue_add(struct mcp_queue *queue, struct mcp_call *call,
                              json_t *arguments,
                              void (*start)(struct mcp_job *job),
                              void (*cancel)(struct mcp_job *job))
{
    struct mcp_job *job;

    if (queue->waiting.length >= MCP_QUEUE_MAX) {
        mcp_call_fail(call, MCP_RPC_INTERNAL_ERROR, NULL,
                      "%d calls are already waiting; try again when some of "
                      "them have been answered",
                      MCP_QUEUE_MAX);
        return NULL;
    }
    job = g_new0(struct mcp_job, 1);
    job->queue = queue;
    job->call = call;
    job->arguments = arguments;
    job->start = start;
    job->cancel = cancel;
    mcp_call_set_cancelled(call, on_cancelled, job);
    g_queue_push_tail(&queue->waiting, job);
    wake(queue);
    return job;
}

void mcp_queue_end(struct mcp_job *job)
{
    struct mcp_queue *queue = job->queue;

    queue->running = NULL;
    job_free(job);
    wake(queue);
}

struct mcp_call *mcp_queue_running(const struct mcp_queue *queue)
{
    return queue->running ? queue->running->call : NULL;
}

struct mcp_queue *mcp_queue_new(void)
{
    struct mcp_queue *queue = g_new0(struct mcp_queue, 1);

    g_queue_init(&queue->waiting);
    return queue;
}

void mcp_queue_free(struct mcp_queue *queue)
{
    if (!queue)
        return;
    g_clear_handle_id(&queue->source, g_source_remove);
    g_free(queue);
}
