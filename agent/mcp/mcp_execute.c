/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_execute - the tool execute_command; see mcp_state.h.
 *
 * While the command runs the client receives progress: the elapsed time and the
 * last line of output, at most four times and at least once per second, so that
 * a client whose timeout is reset by progress does not give up.
 */
#include "agent/mcp/mcp_output.h"
#include "agent/mcp/mcp_state.h"
#include "agent/mcp/mcp_text.h"
#include "agent/wire/command_json.h"

#include <string.h>

enum { TICK_MS = 1000, PROGRESS_MS = 250, LINE_MAX_BYTES = 200 };

struct run {
    struct mcp_output streams[2]; /* stdout, stderr */
    gint64 started, told;         /* monotonic, us */
    guint64 bytes;
    guint timer;
    char line[LINE_MAX_BYTES + 1]; /* the last line that was not empty */
};

/* ---- progress ------------------------------------------------------------ */

static void note_line(struct run *run, const char *data, size_t len)
{
    size_t from;

    while (len > 0 && strchr("\r\n\t ", data[len - 1]))
        len--;
    if (len == 0)
        return;
    from = len;
    while (from > 0 && data[from - 1] != '\n' && len - from < LINE_MAX_BYTES)
        from--;
    memcpy(run->line, data + from, len - from);
    run->line[len - from] = '\0';
}

/* The first command of "stepback mcp" may wait for the machine. */
static bool is_starting(const struct mcp_job *job)
{
    struct mcp_state *service = mcp_state_of(job->call);
    struct session_status status;

    service->host->get_status(service->host_opaque, &status);
    return status.state == SESSION_STARTING;
}

static char *describe_progress(const struct mcp_job *job)
{
    const struct run *run = job->data;
    g_autofree char *line = g_utf8_make_valid(run->line, -1);

    if (run->bytes == 0 && is_starting(job))
        return g_strdup("the sandbox is starting");
    return g_strdup_printf("%" G_GUINT64_FORMAT " bytes of output%s%s",
                           run->bytes, *line ? "; " : "", line);
}

static void send_progress(struct mcp_job *job)
{
    struct run *run = job->data;
    gint64 now = g_get_monotonic_time();
    g_autofree char *message = describe_progress(job);

    if (job->cancelled)
        return;
    run->told = now;
    mcp_call_progress(job->call, (double)(now - run->started) / 1e6, -1,
                      message);
}

static gboolean on_tick(gpointer data)
{
    send_progress(data);
    return G_SOURCE_CONTINUE;
}

static void on_output(const struct command_output *output, void *opaque)
{
    struct mcp_job *job = opaque;
    struct run *run = job->data;

    mcp_output_add(&run->streams[output->is_stderr], output->data, output->len);
    run->bytes += output->len;
    note_line(run, output->data, output->len);
    if (mcp_call_wants_progress(job->call) &&
        g_get_monotonic_time() - run->told >= PROGRESS_MS * 1000)
        send_progress(job);
}

/* ---- result -------------------------------------------------------------- */

static void set_output(json_t *result, const struct mcp_output *output,
                       const char *key, const char *dropped_key)
{
    guint64 dropped;
    g_autofree char *text = mcp_output_text(output, &dropped);

    json_object_set_new(result, key, json_string(text));
    json_object_set_new(result, dropped_key, json_integer((json_int_t)dropped));
}

static json_t *describe(const struct run *run, const struct answer *answer)
{
    static const char *const keys[] = {
        "step_id",     "exit_code", "signal", "oom_kills", "duration_ms",
        "undoable",    "affected",  "counts", "changes",   "truncated",
        "unprotected", "aborted",   "reason",
    };
    json_t *all = mcp_state_report(answer ? answer->report : NULL);
    json_t *result = json_object();

    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        json_t *value = json_object_get(all, keys[i]);

        if (value)
            json_object_set(result, keys[i], value);
    }
    if (!json_object_get(result, "exit_code"))
        json_object_set_new(result, "exit_code", json_integer(-1));
    if (!json_object_get(result, "step_id"))
        json_object_set_new(result, "step_id",
                            json_integer(answer ? answer->step_id : 0));
    set_output(result, &run->streams[0], "stdout", "stdout_dropped_bytes");
    set_output(result, &run->streams[1], "stderr", "stderr_dropped_bytes");
    json_decref(all);
    return result;
}

static void on_done(const struct answer *answer, const GError *error,
                    void *opaque)
{
    struct mcp_job *job = opaque;
    struct run *run = job->data;
    bool many = mcp_state_has_folders(mcp_state_of(job->call));
    json_t *result = describe(run, answer);
    char *report = mcp_text_command(result, many);

    g_clear_handle_id(&run->timer, g_source_remove);
    if (error) {
        g_autofree char *text = mcp_state_advice(job->call, error);

        json_object_set_new(result, "error", json_string(text));
        mcp_tools_fail(job->call, text, report, result);
    } else {
        mcp_tools_finish(job->call, report, result);
    }
    mcp_output_clear(&run->streams[0]);
    mcp_output_clear(&run->streams[1]);
    mcp_queue_end(job);
}

/* ---- start --------------------------------------------------------------- */

static void start(struct mcp_job *job)
{
    struct mcp_state *service = mcp_state_of(job->call);
    g_autoptr(GError) error = NULL;
    struct command *command = command_from_json(job->arguments, &error);
    struct run *run;

    if (!command) {
        mcp_tools_refuse(job->call, "execute_command: %s", error->message);
        mcp_queue_end(job);
        return;
    }
    job->data = run = g_new0(struct run, 1);
    run->started = g_get_monotonic_time();
    run->timer = g_timeout_add(TICK_MS, on_tick, job);
    service->host->execute(service->host_opaque, command, on_output, on_done,
                           job);
}

static void cancel(struct mcp_job *job)
{
    struct mcp_state *service = mcp_state_of(job->call);

    service->host->cancel(service->host_opaque);
}

void mcp_tool_execute(struct mcp_call *call, json_t *arguments)
{
    mcp_queue_add(mcp_state_of(call)->queue, call, arguments, start, cancel);
}
