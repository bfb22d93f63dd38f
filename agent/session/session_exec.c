/* SPDX-License-Identifier: Apache-2.0
 *
 * session_exec - see session_exec.h.
 */
#include "agent/session/session_exec.h"

#include <signal.h>

#include "agent/session/session_execution.h"
#include "agent/session/session_guard.h"
#include "common/errors.h"

static gboolean refuse(GError **error, enum error_code code, gint64 id,
                       const char *text)
{
    g_set_error(error, STEPBACK_ERROR, code,
                "execution %" G_GINT64_FORMAT ": %s", id, text);
    return FALSE;
}

/* ---- start --------------------------------------------------------------- */

static gboolean check_start(struct session *session,
                            const struct command *command, bool wait,
                            GError **error)
{
    unsigned max;

    if (!session_check_running(session, error))
        return FALSE;
    max = guest_channel_max_commands(machine_guest(session->machine));
    if (session->execs->len >= max) {
        g_set_error(error, STEPBACK_ERROR, ERROR_BUSY,
                    "%u executions already run or wait; wait until one ends",
                    max);
        return FALSE;
    }
    if (!wait && command->step == COMMAND_ONE_STEP &&
        !execution_is_turn(session)) {
        g_set_error(
            error, STEPBACK_ERROR, ERROR_BUSY, "%s; wait until that ends",
            session->exec ? "a command is already running" : session->occupied);
        return FALSE;
    }
    return TRUE;
}

gint64 session_exec_start(struct session *session, struct command *command,
                          const struct session_party *party, bool wait,
                          GError **error)
{
    struct execution *execution;

    if (!check_start(session, command, wait, error) ||
        !execution_complete(session, command, error)) {
        command_free(command);
        return 0;
    }
    execution = execution_add(session, command);
    execution_set_party(execution, party);
    execution_begin(execution);
    return execution->id;
}

/* ---- streams ------------------------------------------------------------- */

void session_exec_consumed(struct session *session, gint64 id,
                           const struct session_party *party, size_t len)
{
    struct execution *execution = execution_find(session, id);

    if (!execution || !execution->exec || execution->party != party)
        return;
    len = MIN(len, execution->unconsumed);
    execution->unconsumed -= len;
    exec_consume(execution->exec, len);
}

static gboolean input(struct session *session, gint64 id, GBytes *data,
                      bool eof, reply_done done, void *opaque, GError **error)
{
    g_autoptr(GBytes) own = data;
    struct execution *execution = execution_get(session, id, error);

    if (!execution)
        return FALSE;
    if (!execution->exec) /* as a pipe whose reader is gone */
        return refuse(error, ERROR_CANCELLED, id, "it has ended");
    if (!exec_command(execution->exec)->streams_input)
        return refuse(error, ERROR_INVALID_FIELD, id,
                      "it was started without standard input");
    if (data && g_bytes_get_size(data) > SESSION_EXEC_INPUT_MAX)
        return refuse(error, ERROR_TOO_LARGE, id,
                      "input must be sent in parts of at most 256 KiB");
    return exec_input(execution->exec, g_steal_pointer(&own), eof, done, opaque,
                      error);
}

void session_exec_input(struct session *session, gint64 id, GBytes *data,
                        bool eof, reply_done done, void *opaque)
{
    GError *error = NULL;

    if (!input(session, id, data, eof, done, opaque, &error))
        reply_post_error(done, opaque, error);
}

gboolean session_exec_resize(struct session *session, gint64 id, unsigned rows,
                             unsigned columns, GError **error)
{
    struct execution *execution = execution_get(session, id, error);

    if (!execution)
        return FALSE;
    if (!execution->has_terminal)
        return refuse(error, ERROR_INVALID_FIELD, id, "it has no terminal");
    if (execution->exec && exec_is_running(execution->exec))
        guest_channel_resize(machine_guest(session->machine), id, rows,
                             columns);
    return TRUE;
}

gboolean session_exec_signal(struct session *session, gint64 id, int number,
                             GError **error)
{
    struct execution *execution = execution_get(session, id, error);

    if (!execution)
        return FALSE;
    if (execution->exec && exec_is_running(execution->exec))
        guest_channel_signal(machine_guest(session->machine), id, number);
    else if (execution->exec) /* it waits for its turn */
        exec_cancel(execution->exec, ERROR_CANCELLED);
    return TRUE;
}

gboolean session_exec_cancel(struct session *session, gint64 id, GError **error)
{
    struct execution *execution = execution_get(session, id, error);
    struct exec *exec = execution ? execution->exec : NULL;
    bool has_turn = exec && exec == session->exec;

    if (!execution)
        return FALSE;
    if (exec)
        exec_cancel(exec, ERROR_CANCELLED); /* may free the execution */
    if (has_turn)
        session_guard_deny_command(session);
    return TRUE;
}

/* ---- the end ------------------------------------------------------------- */

struct late_answer {
    struct session *session;
    gint64 id;
    struct reply reply;
};

/* An answer never comes before the call returns. */
static gboolean answer_later(gpointer data)
{
    struct late_answer *late = data;
    struct exec_exit exit;
    const struct answer answer = { .exit = &exit };
    g_autoptr(GError) error = NULL;
    struct execution *execution = execution_get(late->session, late->id,
                                                &error);

    if (execution)
        execution_get_exit(execution, &exit);
    reply_send(&late->reply, execution ? &answer : NULL, error);
    g_free(late);
    return G_SOURCE_REMOVE;
}

void session_exec_wait(struct session *session, gint64 id, reply_done done,
                       void *opaque)
{
    const struct reply reply = { done, opaque };
    struct execution *execution = execution_find(session, id);
    struct late_answer *late;

    if (execution && execution->exec) {
        g_array_append_val(execution->waiters, reply);
        return;
    }
    late = g_new(struct late_answer, 1);
    *late = (struct late_answer){ session, id, reply };
    g_idle_add(answer_later, late);
}

gboolean session_exec_forget(struct session *session, gint64 id, GError **error)
{
    struct execution *execution = execution_get(session, id, error);

    if (!execution)
        return FALSE;
    if (execution->exec)
        return refuse(error, ERROR_BUSY, id, "it has not ended");
    g_ptr_array_remove(session->executions, execution);
    return TRUE;
}

/* ---- attach and detach --------------------------------------------------- */

gboolean session_exec_output(struct session *session, gint64 id, guint64 since,
                             struct exec_reading *ret_reading, GError **error)
{
    struct execution *execution = execution_get(session, id, error);

    if (!execution)
        return FALSE;
    *ret_reading = (struct exec_reading){ .ended = !execution->exec };
    if (execution->ring)
        ret_reading->chunks = exec_ring_read(
            execution->ring, since, SESSION_EXEC_READ_MAX, &ret_reading->next,
            &ret_reading->gone);
    else
        ret_reading->chunks = g_ptr_array_new();
    if (execution->ring && ret_reading->next < exec_ring_end(execution->ring))
        ret_reading->ended = false;
    return TRUE;
}

void exec_reading_clear(struct exec_reading *reading)
{
    g_clear_pointer(&reading->chunks, g_ptr_array_unref);
}

/* The party gets what was kept and no party has got; it counts as consumed. */
static void replay(struct execution *execution)
{
    const struct session_party *party = execution->party;
    g_autoptr(GPtrArray) chunks = NULL;
    guint64 gone;

    if (!execution->ring)
        return;
    chunks = exec_ring_read(execution->ring, execution->shown, EXEC_RING_BYTES,
                            &execution->shown, &gone);
    for (guint i = 0; i < chunks->len; i++) {
        const struct exec_chunk *chunk = g_ptr_array_index(chunks, i);
        const struct command_output output = {
            .exec_id = execution->id,
            .step_id = execution->step_id,
            .is_stderr = chunk->is_stderr,
            .data = chunk->data->str,
            .len = chunk->data->len,
        };

        party->callbacks->output(&output, party->opaque);
    }
}

gboolean session_exec_attach(struct session *session, gint64 id,
                             const struct session_party *party, bool replace,
                             GError **error)
{
    struct execution *execution = execution_get(session, id, error);
    const struct session_party *former;

    if (!execution)
        return FALSE;
    former = execution->party;
    if (former && former != party && !replace)
        return refuse(error, ERROR_BUSY, id,
                      "another client is attached; ask to replace it");
    execution_set_party(execution, party);
    if (former && former != party)
        former->callbacks->replaced(id, former->opaque);
    replay(execution);
    if (!execution->exec) {
        struct exec_exit exit;

        execution_get_exit(execution, &exit);
        execution->party = NULL;
        party->callbacks->exited(&exit, party->opaque);
    }
    return TRUE;
}

gboolean session_exec_detach(struct session *session, gint64 id,
                             const struct session_party *party, GError **error)
{
    struct execution *execution = execution_get(session, id, error);

    if (!execution)
        return FALSE;
    if (execution->party != party)
        return refuse(error, ERROR_INVALID_FIELD, id,
                      "this client is not attached to it");
    execution_set_party(execution, NULL);
    return TRUE;
}

void session_exec_leave(struct session *session,
                        const struct session_party *party)
{
    g_autoptr(GPtrArray) known = g_ptr_array_new();

    for (guint i = 0; i < session->executions->len; i++)
        g_ptr_array_add(known, g_ptr_array_index(session->executions, i));
    for (guint i = 0; i < known->len; i++) {
        struct execution *execution = g_ptr_array_index(known, i);
        bool hangs_up = !execution->was_detached;

        if (execution->party != party)
            continue;
        execution_set_party(execution, NULL);
        if (hangs_up)
            session_exec_signal(session, execution->id, SIGHUP, NULL);
    }
}

/* ---- list ---------------------------------------------------------------- */

unsigned session_exec_count(const struct session *session)
{
    return session->executions->len;
}

void session_exec_get(const struct session *session, unsigned i,
                      struct exec_info *ret_info)
{
    const struct execution *execution = g_ptr_array_index(session->executions,
                                                          i);

    *ret_info = (struct exec_info){
        .exec_id = execution->id,
        .step_id = execution->step_id,
        .state = !execution->exec                   ? EXEC_ENDED
                 : exec_is_waiting(execution->exec) ? EXEC_WAITING
                                                    : EXEC_RUNNING,
        .command = execution->command,
        .label = execution->label,
        .attached = execution->party != NULL || execution->is_plain,
        .was_detached = execution->was_detached,
        .has_terminal = execution->has_terminal,
        .step = execution->step,
        .started = execution->started,
        .ended = execution->ended,
        .output_bytes = execution->output_bytes,
        .exit_code = execution->end.exit_code,
    };
}
