/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_diff - the tool diff; see mcp_state.h.
 *
 * The patch comes in parts until it is complete or long enough. The end of a
 * long patch is cut at the end of a line.
 */
#include "agent/client/patch.h"
#include "agent/mcp/mcp_state.h"
#include "agent/mcp/mcp_text.h"
#include "agent/wire/payload.h"

#include <string.h>

enum { PATCH_MAX = 64 << 10 };

struct diff {
    gint64 step;
    GString *patch; /* bytes */
    GPtrArray *paths;
    json_t *notes; /* what the patch lacks */
};

static void end(struct mcp_job *job)
{
    struct diff *diff = job->data;

    g_string_free(diff->patch, TRUE);
    g_clear_pointer(&diff->paths, g_ptr_array_unref);
    json_decref(diff->notes);
    mcp_queue_end(job);
}

/* note is taken. */
static void add_note(struct diff *diff, char *note)
{
    json_array_append_new(diff->notes, json_string(note));
    g_free(note);
}

/* Cut the patch to its limit; more: files are missing anyway. */
static bool cut(struct diff *diff, bool more)
{
    GString *patch = diff->patch;
    const char *line;

    if (patch->len > PATCH_MAX) {
        line = memrchr(patch->str, '\n', PATCH_MAX);
        g_string_truncate(patch,
                          line ? (gsize)(line + 1 - patch->str) : PATCH_MAX);
        more = true;
    }
    if (more)
        add_note(diff, g_strdup("the patch goes on; give 'paths' to see other "
                                "files"));
    return more;
}

static void finish(struct mcp_job *job, const struct step_patch *part)
{
    struct diff *diff = job->data;
    bool more = cut(diff, part->next >= 0);
    g_autofree char *valid = g_utf8_make_valid(diff->patch->str,
                                               (gssize)diff->patch->len);
    json_t *result;

    if (part->cut > 0)
        add_note(diff, patch_note_cut(diff->step, part->cut));
    if (part->unprotected)
        add_note(diff, patch_note_partial(diff->step));
    result = json_pack("{s:I, s:s, s:b, s:O}", "step_id",
                       (json_int_t)diff->step, "patch", valid, "truncated",
                       more || part->cut > 0 || part->unprotected, "notes",
                       diff->notes);
    mcp_tools_finish(job->call, mcp_text_diff(result), result);
    end(job);
}

/* ---- requests ------------------------------------------------------------ */

static void ask(struct mcp_job *job, gint64 first);

static void on_part(const struct answer *answer, const GError *error,
                    void *opaque)
{
    struct mcp_job *job = opaque;
    struct diff *diff = job->data;
    const struct step_patch *part;

    if (error) {
        mcp_state_refuse(job->call, error);
        end(job);
        return;
    }
    part = answer->patch;
    g_string_append_len(diff->patch, part->text->str, (gssize)part->text->len);
    if (part->next >= 0 && diff->patch->len < PATCH_MAX && !job->cancelled)
        ask(job, part->next);
    else
        finish(job, part);
}

static void ask(struct mcp_job *job, gint64 first)
{
    struct mcp_state *service = mcp_state_of(job->call);
    struct diff *diff = job->data;
    const struct patch_request request = {
        .step = diff->step,
        .first = (unsigned)first,
        .max = PATCH_MAX - diff->patch->len,
        .paths = diff->paths ? (char *const *)diff->paths->pdata : NULL,
    };

    service->host->diff(service->host_opaque, folder_from_json(job->arguments),
                        &request, on_part, job);
}

static void on_newest(const struct answer *answer, const GError *error,
                      void *opaque)
{
    struct mcp_job *job = opaque;
    struct diff *diff = job->data;
    const struct undo_result *result = answer ? answer->result : NULL;
    const struct step_report *newest = result && result->steps &&
                                               result->steps->len > 0
                                           ? g_ptr_array_index(result->steps, 0)
                                           : NULL;

    if (newest) {
        diff->step = newest->step_id;
        ask(job, 0);
        return;
    }
    if (error)
        mcp_state_refuse(job->call, error);
    else
        mcp_tools_refuse(job->call, "diff: the history is empty");
    end(job);
}

static void start(struct mcp_job *job)
{
    struct mcp_state *service = mcp_state_of(job->call);
    struct diff *diff = g_new0(struct diff, 1);

    job->data = diff;
    diff->patch = g_string_new(NULL);
    diff->notes = json_array();
    diff->step = json_integer_value(json_object_get(job->arguments, "step_id"));
    if (payload_get_paths(job->arguments, &diff->paths, NULL))
        g_ptr_array_add(diff->paths, NULL);
    if (diff->step != 0)
        ask(job, 0);
    else
        service->host->history(service->host_opaque,
                               folder_from_json(job->arguments), 1, on_newest,
                               job);
}

void mcp_tool_diff(struct mcp_call *call, json_t *arguments)
{
    json_t *id = json_object_get(arguments, "step_id");
    g_autoptr(GPtrArray) paths = NULL;
    g_autoptr(GError) error = NULL;

    if (id && json_integer_value(id) == 0)
        mcp_tools_refuse(call, "diff: 'step_id' must not be 0, which means "
                               "that no step was begun");
    else if (json_object_get(arguments, "paths") &&
             !payload_get_paths(arguments, &paths, &error))
        mcp_tools_refuse(call, "diff: %s", error->message);
    else
        mcp_queue_add(mcp_state_of(call)->queue, call, arguments, start, NULL);
}
