/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_ready - see mcp_ready.h.
 */
#include "agent/mcp/mcp_ready.h"

#include "agent/mcp/mcp_state.h"

struct ready {
    void (*begin)(struct mcp_call *call, json_t *arguments);
};

struct session *mcp_ready_session(const struct mcp_call *call)
{
    const struct mcp_state *service = mcp_state_of(call);

    return service->host->session(service->host_opaque);
}

static void on_ready(const struct answer *answer, const GError *error,
                     void *opaque)
{
    struct mcp_job *job = opaque;
    const struct ready *ready = job->data;
    void (*begin)(struct mcp_call *, json_t *) = ready->begin;
    struct mcp_call *call = job->call;
    json_t *arguments = job->arguments;
    bool cancelled = job->cancelled;

    /* The job is gone afterwards, and the call's cancel handler with it. */
    mcp_call_set_cancelled(call, NULL, NULL);
    mcp_queue_end(job);
    if (cancelled)
        mcp_call_finish(call, json_object());
    else if (error)
        mcp_state_refuse(call, error);
    else
        begin(call, arguments);
}

static void start(struct mcp_job *job)
{
    struct mcp_state *service = mcp_state_of(job->call);

    service->host->ready(service->host_opaque, on_ready, job);
}

static void cancel(struct mcp_job *job)
{
    struct mcp_state *service = mcp_state_of(job->call);

    service->host->cancel(service->host_opaque);
}

void mcp_ready_run(struct mcp_call *call, json_t *arguments,
                   void (*begin)(struct mcp_call *call, json_t *arguments))
{
    struct mcp_state *service = mcp_state_of(call);
    struct session_status status;
    struct mcp_job *job;
    struct ready *ready;

    service->host->get_status(service->host_opaque, &status);
    if (status.state == SESSION_RUNNING) {
        begin(call, arguments);
        return;
    }
    job = mcp_queue_add(service->queue, call, arguments, start, cancel);
    if (!job)
        return;
    job->data = ready = g_new(struct ready, 1);
    ready->begin = begin;
}
