/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_copy_tools - the tools copy_in and copy_out; see mcp_state.h.
 *
 * If the host's path is in a shared folder, cp(1) in the guest does the copy,
 * as a step: a write to the folder from the host's side could not be undone.
 */
#include "agent/mcp/mcp_copy.h"
#include "agent/mcp/mcp_output.h"
#include "agent/mcp/mcp_ready.h"
#include "agent/mcp/mcp_state.h"
#include "agent/mcp/mcp_text.h"
#include "common/errors.h"

struct copy_job {
    bool in;
    struct mcp_output output;
};

static const char *string_of(json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static bool is_copy_in(const struct mcp_call *call)
{
    return g_strcmp0(string_of(mcp_call_params(call), "name"), "copy_in") == 0;
}

/* ---- a copy by a command ------------------------------------------------- */

static void on_output(const struct command_output *output, void *opaque)
{
    struct mcp_job *job = opaque;
    struct copy_job *copy = job->data;

    mcp_output_add(&copy->output, output->data, output->len);
}

static json_t *describe(const struct mcp_job *job, json_t *report)
{
    static const char *const keys[] = { "step_id", "undoable", "affected",
                                        "changes", "truncated" };
    json_t *result = json_object();

    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        json_t *value = json_object_get(report, keys[i]);

        if (value)
            json_object_set(result, keys[i], value);
    }
    json_object_set(result, "host_path",
                    json_object_get(job->arguments, "host_path"));
    json_object_set(result, "guest_path",
                    json_object_get(job->arguments, "guest_path"));
    return result;
}

static void finish(struct mcp_job *job, json_t *report)
{
    struct copy_job *copy = job->data;
    bool many = mcp_state_has_folders(mcp_state_of(job->call));
    json_int_t code = json_integer_value(json_object_get(report, "exit_code"));
    json_t *result = describe(job, report);
    char *text = mcp_text_copy(result, copy->in, many);
    guint64 dropped;
    g_autofree char *output = mcp_output_text(&copy->output, &dropped);

    if (code == 0)
        mcp_tools_finish(job->call, text, result);
    else
        mcp_tools_fail(job->call, *output ? output : "cp failed", text, result);
}

static void on_done(const struct answer *answer, const GError *error,
                    void *opaque)
{
    struct mcp_job *job = opaque;
    struct copy_job *copy = job->data;
    json_t *report;

    if (error) {
        mcp_state_refuse(job->call, error);
    } else {
        report = mcp_state_report(answer->report);
        finish(job, report);
        json_decref(report);
    }
    mcp_output_clear(&copy->output);
    mcp_queue_end(job);
}

static void start_command(struct mcp_job *job)
{
    struct mcp_state *service = mcp_state_of(job->call);
    const struct copy_job *copy = job->data;
    const char *guest = string_of(job->arguments, "guest_path");
    g_autofree char *guest_word = g_shell_quote(guest);
    g_autofree char *text = NULL, *shared_word = NULL;
    g_autoptr(GError) error = NULL;
    struct mcp_copy_place place = { .dir_fd = -1 };
    struct session_status status;

    /* The session may have changed since the call began. */
    service->host->get_status(service->host_opaque, &status);
    if (!status.config ||
        !mcp_copy_place_find(status.config, job->arguments, !copy->in, &place,
                             &error) ||
        !place.shared) {
        mcp_tools_refuse(job->call, "%s",
                         error ? error->message : "the session has ended");
        mcp_copy_place_clear(&place);
        mcp_queue_end(job);
        return;
    }
    shared_word = g_shell_quote(place.shared);
    mcp_copy_place_clear(&place);
    text = g_strdup_printf("cp -RPp -- %s %s",
                           copy->in ? shared_word : guest_word,
                           copy->in ? guest_word : shared_word);
    service->host->execute(service->host_opaque, command_new(text), on_output,
                           on_done, job);
}

static void cancel_command(struct mcp_job *job)
{
    struct mcp_state *service = mcp_state_of(job->call);

    service->host->cancel(service->host_opaque);
}

static void copy_by_command(struct mcp_call *call, json_t *arguments, bool in)
{
    struct mcp_job *job = mcp_queue_add(mcp_state_of(call)->queue, call,
                                        arguments, start_command,
                                        cancel_command);
    struct copy_job *copy;

    if (!job)
        return;
    job->data = copy = g_new0(struct copy_job, 1);
    copy->in = in;
}

/* ---- the tools ----------------------------------------------------------- */

static bool check_target(struct mcp_call *call,
                         const struct session_config *config, bool in,
                         const char *guest_path)
{
    const struct session_directory *shared = mcp_copy_place_shared(config,
                                                                   guest_path);

    if (!in || !shared)
        return true;
    mcp_tools_refuse(
        call,
        "copy_in: %s is in the shared folder %s, where such a copy "
        "would not be a step; copy to another path, such as one "
        "in /tmp, and move it from there with execute_command",
        guest_path, shared->guest_path);
    return false;
}

static void start(struct mcp_call *call, json_t *arguments)
{
    struct mcp_state *service = mcp_state_of(call);
    const char *guest_path = string_of(arguments, "guest_path");
    struct mcp_copy_place place = { .dir_fd = -1 };
    g_autoptr(GError) error = NULL;
    bool in = is_copy_in(call);
    struct session_status status;

    service->host->get_status(service->host_opaque, &status);
    if (!status.config)
        mcp_tools_refuse(call, "no session runs; get_session_status has "
                               "details");
    else if (*guest_path != '/')
        mcp_tools_refuse(call, "guest_path '%s': must be absolute", guest_path);
    else if (!mcp_copy_place_find(status.config, arguments, !in, &place,
                                  &error))
        mcp_tools_refuse(call, "%s", error->message);
    else if (place.shared)
        copy_by_command(call, arguments, in);
    else if (check_target(call, status.config, in, guest_path))
        mcp_copy_begin(call, in, &place, string_of(arguments, "host_path"),
                       guest_path);
    mcp_copy_place_clear(&place);
}

void mcp_tool_copy(struct mcp_call *call, json_t *arguments)
{
    mcp_ready_run(call, arguments, start);
}
