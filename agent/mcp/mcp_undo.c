/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_undo - the history and session tools; see mcp_state.h.
 */
#include "agent/client/report_json.h"
#include "agent/mcp/mcp_state.h"
#include "agent/mcp/mcp_text.h"
#include "agent/wire/payload.h"
#include "agent/wire/status_json.h"

enum { HISTORY_DEFAULT = 20 };

/* ---- history ------------------------------------------------------------- */

/* Copy reports without the members that a model does not need: a new array. */
static json_t *short_reports(GPtrArray *steps)
{
    json_t *list = json_array();

    for (guint i = 0; steps && i < steps->len; i++)
        json_array_append_new(list,
                              mcp_state_report(g_ptr_array_index(steps, i)));
    return list;
}

/* Include the steps that were done before an error. */
static json_t *describe(const struct answer *answer)
{
    const struct undo_result *undo = answer ? answer->result : NULL;
    json_t *result = undo ? result_to_json(undo) : json_object();

    json_object_set_new(result, "steps",
                        short_reports(undo ? undo->steps : NULL));
    return result;
}

static void on_history(const struct answer *answer, const GError *error,
                       void *opaque)
{
    struct mcp_job *job = opaque;

    if (error) {
        mcp_state_refuse(job->call, error);
    } else {
        json_t *result = describe(answer);

        mcp_tools_finish(job->call, mcp_text_history(result), result);
    }
    mcp_queue_end(job);
}

static void start_history(struct mcp_job *job)
{
    struct mcp_state *service = mcp_state_of(job->call);
    json_t *limit = json_object_get(job->arguments, "limit");

    service->host->history(
        service->host_opaque, folder_from_json(job->arguments),
        limit ? (unsigned)json_integer_value(limit) : HISTORY_DEFAULT,
        on_history, job);
}

void mcp_tool_history(struct mcp_call *call, json_t *arguments)
{
    mcp_queue_add(mcp_state_of(call)->queue, call, arguments, start_history,
                  NULL);
}

/* ---- undo ---------------------------------------------------------------- */

static void finish(struct mcp_job *job, const struct answer *answer,
                   const GError *error, enum mcp_text_undo kind)
{
    bool many = mcp_state_has_folders(mcp_state_of(job->call));
    json_t *result = describe(answer);
    bool none = json_array_size(json_object_get(result, "steps")) == 0;
    char *text = error && none ? NULL : mcp_text_undo(result, kind, many);

    if (error) {
        g_autofree char *sentence = mcp_state_advice(job->call, error);

        mcp_tools_fail(job->call, sentence, text, result);
    } else {
        mcp_tools_finish(job->call, text, result);
    }
    mcp_queue_end(job);
}

static void on_undone(const struct answer *answer, const GError *error,
                      void *opaque)
{
    finish(opaque, answer, error, MCP_TEXT_UNDO);
}

static void on_restored(const struct answer *answer, const GError *error,
                        void *opaque)
{
    finish(opaque, answer, error, MCP_TEXT_RESTORE);
}

static void on_redone(const struct answer *answer, const GError *error,
                      void *opaque)
{
    finish(opaque, answer, error, MCP_TEXT_REDO);
}

static struct undo_extent extent_of(json_t *arguments)
{
    json_t *steps = json_object_get(arguments, "steps");

    return (struct undo_extent){
        .steps = steps ? (unsigned)json_integer_value(steps) : 1,
        .step_id = json_integer_value(json_object_get(arguments, "step_id")),
        .force = json_is_true(json_object_get(arguments, "force")),
    };
}

static void start_undo(struct mcp_job *job)
{
    struct mcp_state *service = mcp_state_of(job->call);
    struct folder_ref directory = folder_from_json(job->arguments);
    const struct undo_extent extent = extent_of(job->arguments);
    g_autoptr(GPtrArray) paths = NULL;

    /* The schema has validated it. */
    if (payload_get_paths(job->arguments, &paths, NULL))
        service->host->restore(service->host_opaque, directory, &extent, paths,
                               on_restored, job);
    else
        service->host->rollback(service->host_opaque, directory, &extent,
                                on_undone, job);
}

void mcp_tool_undo(struct mcp_call *call, json_t *arguments)
{
    json_t *id = json_object_get(arguments, "step_id");
    g_autoptr(GPtrArray) paths = NULL;
    g_autoptr(GError) error = NULL;

    if (json_object_get(arguments, "steps") && id)
        mcp_tools_refuse(call, "undo: give either 'steps' or 'step_id', "
                               "not both");
    else if (id && json_integer_value(id) == 0)
        mcp_tools_refuse(call,
                         "undo: 'step_id' must not be 0, which means that no "
                         "step was begun");
    else if (json_object_get(arguments, "paths") &&
             !payload_get_paths(arguments, &paths, &error))
        mcp_tools_refuse(call, "undo: %s", error->message);
    else
        mcp_queue_add(mcp_state_of(call)->queue, call, arguments, start_undo,
                      NULL);
}

/* ---- redo ---------------------------------------------------------------- */

static void start_redo(struct mcp_job *job)
{
    struct mcp_state *service = mcp_state_of(job->call);
    const struct undo_extent extent = extent_of(job->arguments);

    service->host->redo(service->host_opaque, folder_from_json(job->arguments),
                        &extent, on_redone, job);
}

void mcp_tool_redo(struct mcp_call *call, json_t *arguments)
{
    mcp_queue_add(mcp_state_of(call)->queue, call, arguments, start_redo, NULL);
}

/* ---- status -------------------------------------------------------------- */

void mcp_tool_status(struct mcp_call *call, json_t *arguments)
{
    struct mcp_state *service = mcp_state_of(call);

    struct session_status status;
    const char *error = service->host->get_status(service->host_opaque,
                                                  &status);
    json_t *result = status_to_json(&status);

    if (error)
        json_object_set_new(result, "error", json_string(error));
    mcp_tools_finish(call, mcp_text_status(result), result);
}
