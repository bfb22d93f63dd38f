/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_watch - see mcp_watch.h.
 *
 * The session does not announce the output of a detached execution, so a call
 * that waits looks every LOOK_MS at how much there is. Only such calls do.
 */
#include "agent/mcp/mcp_watch.h"

#include "agent/mcp/mcp_output.h"
#include "agent/mcp/mcp_ready.h"
#include "agent/mcp/mcp_state.h"
#include "agent/mcp/mcp_text.h"

enum { LOOK_MS = 50, QUIET_MS = 250, PROGRESS_MS = 1000 };

struct watch {
    struct mcp_call *call; /* NULL: it is finished, and an answer is awaited */
    struct session *session;
    struct mcp_watch_options options;
    gint64 began, told; /* monotonic, us */
    gint64 changed;     /* when the last output was noticed */
    guint64 seen;       /* bytes of output until then */
    guint timer;
};

bool mcp_watch_find(struct session *session, gint64 id,
                    struct exec_info *ret_info)
{
    for (unsigned i = 0; i < session_exec_count(session); i++) {
        session_exec_get(session, i, ret_info);
        if (ret_info->exec_id == id)
            return true;
    }
    return false;
}

static const char *state_name(enum exec_state state)
{
    return state == EXEC_WAITING   ? "waiting"
           : state == EXEC_RUNNING ? "running"
                                   : "ended";
}

/* ---- the result ---------------------------------------------------------- */

struct gathered {
    struct mcp_output output;
    guint64 next, lost;
};

/* Collect all that is kept. */
static gboolean gather(const struct watch *watch, struct gathered *gathered,
                       GError **error)
{
    struct exec_reading reading;
    guint chunks;

    gathered->next = watch->options.since;
    do {
        if (!session_exec_output(watch->session, watch->options.id,
                                 gathered->next, &reading, error))
            return FALSE;
        chunks = reading.chunks->len;
        for (guint i = 0; i < chunks; i++) {
            const struct exec_chunk *chunk = g_ptr_array_index(reading.chunks,
                                                               i);

            mcp_output_add(&gathered->output, chunk->data->str,
                           chunk->data->len);
        }
        gathered->next = reading.next;
        gathered->lost += reading.gone;
        exec_reading_clear(&reading);
    } while (chunks > 0);
    return TRUE;
}

static void add_end(json_t *result, const struct exec_exit *exit)
{
    json_object_set_new(result, "exit_code", json_integer(exit->end.exit_code));
    if (exit->end.signal)
        json_object_set_new(result, "signal", json_integer(exit->end.signal));
    /* A process that was stopped has done what was asked. */
    if (exit->error && error_code_of(exit->error) != ERROR_CANCELLED)
        json_object_set_new(result, "error", json_string(exit->error->message));
}

static void answer(const struct watch *watch, const struct exec_info *info,
                   const struct exec_exit *exit)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *output = NULL;
    struct gathered gathered = { 0 };
    guint64 dropped;
    json_t *result;

    if (info->attached || !info->was_detached) {
        mcp_tools_refuse(watch->call,
                         "process %" G_GINT64_FORMAT
                         ": its output goes to another client that is "
                         "attached, such as the user's terminal; ask the user",
                         info->exec_id);
        return;
    }
    if (!gather(watch, &gathered, &error)) {
        mcp_tools_refuse(watch->call, "%s", error->message);
        mcp_output_clear(&gathered.output);
        return;
    }
    output = mcp_output_text(&gathered.output, &dropped);
    mcp_output_clear(&gathered.output);
    result = json_pack(
        "{s:I, s:s, s:s, s:I, s:I, s:I}", "process_id",
        (json_int_t)watch->options.id, "state", state_name(info->state),
        "output", output, "next", (json_int_t)gathered.next, "dropped_bytes",
        (json_int_t)dropped, "lost_bytes", (json_int_t)gathered.lost);
    if (exit)
        add_end(result, exit);
    mcp_tools_finish(watch->call, mcp_text_process(result), result);
}

/* ---- the wait ------------------------------------------------------------ */

static void on_cancelled(struct mcp_call *call, void *opaque)
{
    struct watch *watch = opaque;

    mcp_call_finish(call, json_object());
    watch->call = NULL;
    if (watch->timer) { /* no answer is awaited */
        g_source_remove(watch->timer);
        g_free(watch);
    }
}

static void refuse_unknown(const struct watch *watch)
{
    mcp_tools_refuse(watch->call,
                     "process %" G_GINT64_FORMAT
                     ": not known any more; list_processes lists those that "
                     "are",
                     watch->options.id);
}

static void on_end(const struct answer *end, const GError *error, void *opaque)
{
    struct watch *watch = opaque;
    struct exec_info info;

    if (!watch->call)
        ;
    else if (error || !mcp_watch_find(watch->session, watch->options.id, &info))
        refuse_unknown(watch);
    else
        answer(watch, &info, end->exit);
    g_free(watch);
}

/* The watch is gone afterwards, or waits for the end's details. */
static void finish(struct watch *watch, const struct exec_info *info)
{
    g_clear_handle_id(&watch->timer, g_source_remove);
    if (info && info->state == EXEC_ENDED) {
        session_exec_wait(watch->session, watch->options.id, on_end, watch);
        return;
    }
    if (info)
        answer(watch, info, NULL);
    else
        refuse_unknown(watch);
    g_free(watch);
}

/* Return whether the answer need not wait longer. */
static bool is_due(struct watch *watch, const struct exec_info *info)
{
    gint64 now = g_get_monotonic_time();

    if (info->state == EXEC_ENDED || info->attached ||
        now - watch->began >= (gint64)watch->options.wait_s * G_USEC_PER_SEC)
        return true;
    if (info->output_bytes != watch->seen) {
        watch->seen = info->output_bytes;
        watch->changed = now;
    }
    return !watch->options.until_end &&
           info->output_bytes > watch->options.since &&
           now - watch->changed >= QUIET_MS * 1000;
}

static void tell_progress(struct watch *watch)
{
    gint64 now = g_get_monotonic_time();

    if (!mcp_call_wants_progress(watch->call) ||
        now - watch->told < PROGRESS_MS * 1000)
        return;
    watch->told = now;
    mcp_call_progress(watch->call, (double)(now - watch->began) / 1e6,
                      watch->options.wait_s, "waiting for the process");
}

static gboolean on_look(gpointer data)
{
    struct watch *watch = data;
    struct exec_info info;
    bool known = mcp_watch_find(watch->session, watch->options.id, &info);

    if (known && !is_due(watch, &info)) {
        tell_progress(watch);
        return G_SOURCE_CONTINUE;
    }
    watch->timer = 0;
    finish(watch, known ? &info : NULL);
    return G_SOURCE_REMOVE;
}

void mcp_watch_begin(struct mcp_call *call,
                     const struct mcp_watch_options *options)
{
    struct watch *watch = g_new0(struct watch, 1);

    watch->call = call;
    watch->session = mcp_ready_session(call);
    watch->options = *options;
    watch->began = watch->told = watch->changed = g_get_monotonic_time();
    mcp_call_set_cancelled(call, on_cancelled, watch);
    if (options->wait_s > 0)
        watch->timer = g_timeout_add(LOOK_MS, on_look, watch);
    else
        on_look(watch);
}
