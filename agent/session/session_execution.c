/* SPDX-License-Identifier: Apache-2.0
 *
 * session_execution - see session_execution.h.
 */
#include "agent/session/session_execution.h"

#include "agent/machine/guest_trust.h"
#include "agent/machine/session_bus.h"
#include "agent/session/session_folder.h"
#include "agent/session/session_guard.h"
#include "common/errors.h"
#include "common/log.h"

enum { ENDED_OUTPUT_BYTES = 16 * EXEC_RING_BYTES };

/* ---- the list ------------------------------------------------------------ */

struct execution *execution_find(const struct session *session, gint64 id)
{
    for (guint i = 0; i < session->executions->len; i++) {
        struct execution *execution = g_ptr_array_index(session->executions, i);

        if (execution->id == id)
            return execution;
    }
    return NULL;
}

struct execution *execution_get(const struct session *session, gint64 id,
                                GError **error)
{
    struct execution *found = execution_find(session, id);

    if (!found)
        g_set_error(error, STEPBACK_ERROR, ERROR_NOT_FOUND,
                    "execution %" G_GINT64_FORMAT
                    ": not found; 'stepback jobs' lists those that are known",
                    id);
    return found;
}

void execution_free(struct execution *execution)
{
    exec_free(execution->exec);
    exec_ring_free(execution->ring);
    g_array_unref(execution->waiters);
    execution->session->guest_hooks->free(execution->guest_steps);
    g_free(execution->command);
    g_free(execution->label);
    g_clear_pointer(&execution->report, step_report_unref);
    g_clear_error(&execution->error);
    g_free(execution);
}

/* Of the executions that have ended, forget the oldest beyond the limit, and
 * the output of the oldest beyond ENDED_OUTPUT_BYTES in all. */
static void limit_ended(struct session *session)
{
    unsigned count = 0;
    size_t kept = 0;

    for (guint i = session->executions->len; i-- > 0;) {
        const struct execution *execution = g_ptr_array_index(
            session->executions, i);

        if (execution->exec || !execution->ring)
            continue;
        kept += exec_ring_size(execution->ring);
        if (kept > ENDED_OUTPUT_BYTES)
            exec_ring_drop(execution->ring);
        if (++count > SESSION_EXEC_ENDED)
            g_ptr_array_remove_index(session->executions, i);
    }
}

/* ---- parties ------------------------------------------------------------- */

void execution_set_party(struct execution *execution,
                         const struct session_party *party)
{
    if (execution->exec)
        exec_consume(execution->exec, execution->unconsumed);
    execution->unconsumed = 0;
    execution->party = party;
    execution->was_detached |= !party;
    if (!execution->ring)
        execution->ring = exec_ring_new();
}

void execution_get_exit(const struct execution *execution,
                        struct exec_exit *ret_exit)
{
    *ret_exit = (struct exec_exit){
        .exec_id = execution->id,
        .end = execution->end,
        .step_id = execution->step_id,
        .report = execution->report,
        .error = execution->error,
    };
}

/* ---- messages of exec ---------------------------------------------------- */

static bool send_output(struct execution *execution,
                        const struct command_output *output)
{
    const struct session_event event = {
        .type = SESSION_EVENT_OUTPUT,
        .droppable = true,
        .command = exec_command(execution->exec),
        .output = output,
    };

    return session_send(execution->session, &event);
}

static bool on_output(struct exec *exec, const struct command_output *output,
                      void *opaque)
{
    struct execution *execution = opaque;
    bool passed = true;

    execution->output_bytes += output->len;
    if (!execution->is_plain)
        exec_ring_add(execution->ring, output->is_stderr, output->data,
                      output->len);
    if (execution->party) {
        execution->unconsumed += output->len;
        execution->shown = execution->output_bytes;
        execution->party->callbacks->output(output, execution->party->opaque);
        return true;
    }
    if (execution->is_plain)
        passed = send_output(execution, output);
    exec_consume(exec, output->len);
    return passed;
}

static void on_started(const struct exec *exec, const struct command *command,
                       void *opaque)
{
    struct execution *execution = opaque;
    const struct session_event event = {
        .type = SESSION_EVENT_STEP_STARTED,
        .step_id = exec_step_id(exec),
        .command = command,
    };

    const struct exec_note note = { .exec_id = execution->id,
                                    .command = command };

    execution->started = g_get_real_time();
    execution->oom_before = machine_oom_kills(execution->session->machine);
    execution->step_id = exec_step_id(exec);
    session_tell_exec(execution->session, &note);
    if (execution->step_id)
        session_send(execution->session, &event);
}

static void on_completed(const struct exec *exec, struct step_report *report,
                         void *opaque)
{
    struct execution *execution = opaque;

    session_tell_step(execution->session, report, exec_command(exec));
}

static void answer_waiters(struct execution *execution)
{
    struct exec_exit exit;
    const struct answer answer = { .exit = &exit };
    const struct exec_note note = { .exec_id = execution->id, .exit = &exit };

    execution_get_exit(execution, &exit);
    session_tell_exec(execution->session, &note);
    while (execution->waiters->len > 0) {
        struct reply waiter = g_array_index(execution->waiters, struct reply,
                                            0);

        g_array_remove_index(execution->waiters, 0);
        reply_send(&waiter, &answer, NULL);
    }
    if (execution->party) {
        const struct session_party *party = execution->party;

        execution->party = NULL;
        party->callbacks->exited(&exit, party->opaque);
    }
}

static void keep_end(struct execution *execution, struct step_report *report,
                     const GError *error)
{
    execution->ended = g_get_real_time();
    execution->end = exec_end(execution->exec);
    execution->step_id = exec_step_id(execution->exec);
    execution->report = report ? step_report_ref(report) : NULL;
    execution->error = error ? g_error_copy(error) : NULL;
    if (execution->session->exec == execution->exec) {
        execution->session->exec = NULL;
        log_set_step(0);
    }
    execution->session->guest_hooks->end(execution);
    g_ptr_array_remove(execution->session->execs, execution->exec);
    g_clear_pointer(&execution->exec, exec_free);
}

static void on_done(struct exec *exec, struct step_report *report,
                    const GError *error, void *opaque)
{
    struct execution *execution = opaque;
    struct session *session = execution->session;
    struct reply executor = execution->executor;
    struct answer answer;

    log_info(LOG_SESSION, "the command is over: %s",
             error ? error->message : "done");
    keep_end(execution, report, error);
    answer = (struct answer){ .report = error ? NULL : report,
                              .step_id = execution->step_id };
    answer_waiters(execution);
    reply_send(&executor, &answer, error);
    if (execution->is_plain)
        g_ptr_array_remove(session->executions, execution);
    limit_ended(session);
    session_command_over(session);
}

static void on_stuck(struct exec *exec, void *opaque)
{
    struct execution *execution = opaque;
    g_autoptr(GError)
        error = g_error_new_literal(STEPBACK_ERROR, ERROR_CONTROL_DISCONNECTED,
                                    "the guest does not end the command");

    session_lose_machine(execution->session, error);
}

static const struct exec_callbacks exec_callbacks = {
    .started = on_started,
    .output = on_output,
    .completed = on_completed,
    .done = on_done,
    .stuck = on_stuck,
};

/* ---- turns --------------------------------------------------------------- */

bool execution_is_turn(const struct session *session)
{
    return session->state == SESSION_RUNNING && !session->exec &&
           !session->occupied;
}

void execution_take_turn(struct execution *execution)
{
    struct session *session = execution->session;

    session->last_step_id++;
    session->counters.steps++;
    log_set_step(session->last_step_id);
    session->exec = execution->exec;
    execution->step_id = session->last_step_id;
}

static void start_step(struct execution *execution)
{
    struct session *session = execution->session;
    struct step_logs logs;

    session_get_logs(session, &logs);
    execution_take_turn(execution);
    log_info(LOG_SESSION, "a command is starting");
    exec_start_step(execution->exec, session->last_step_id, &logs);
}

/* Implements session.next_turn: start the next execution that waits. */
static void next_turn(struct session *session)
{
    for (guint i = 0; execution_is_turn(session) && i < session->execs->len;
         i++) {
        struct exec *exec = g_ptr_array_index(session->execs, i);

        if (!exec_is_waiting(exec))
            continue;
        if (!session->guest_hooks->next(session, exec_id(exec)))
            start_step(execution_find(session, exec_id(exec)));
    }
    session->guest_hooks->next(session, G_MAXINT64);
}

/* Apply the session's defaults. */
static void add_defaults(const struct session_config *config,
                         struct command *command)
{
    g_auto(GStrv) env = g_steal_pointer(&command->env);
    g_auto(GStrv) base = command_merge_env(guest_trust_env(config),
                                           session_bus_env(config));
    g_auto(GStrv) under = command_merge_env(base, config->env);
    g_auto(GStrv) placeholders = secret_list_env(config->secrets);
    g_auto(GStrv) own = command_merge_env(under, placeholders);

    command->env = command_merge_env(own, env);
    if (!command->cwd)
        command->cwd = g_strdup(config->cwd);
    if (!command->user)
        command->user = g_strdup(config->user);
}

gboolean execution_complete(const struct session *session,
                            struct command *command, GError **error)
{
    const struct session_config *config = session->config;
    g_autofree char *cwd = NULL;

    if (command->is_prompt && !config->agent_command) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "the session has no agent; set the field "
                            "'agent_command' of session.start");
        return FALSE;
    }
    if (command->is_prompt)
        command->text = g_strdup(config->agent_command);
    add_defaults(config, command);
    cwd = g_steal_pointer(&command->cwd);
    command->cwd = cwd && g_path_is_absolute(cwd)
                       ? g_strdup(cwd)
                       : g_build_filename(config->directories[0]->guest_path,
                                          cwd, NULL);
    return guest_channel_check_command(machine_guest(session->machine), command,
                                       error);
}

struct execution *execution_add(struct session *session,
                                struct command *command)
{
    struct execution *execution = g_new0(struct execution, 1);

    execution->session = session;
    execution->id = ++session->last_exec_id;
    execution->command = g_strdup(command->text);
    execution->label = g_strdup(command->label);
    execution->has_terminal = command->rows > 0;
    execution->step = command->step;
    execution->waiters = g_array_new(FALSE, FALSE, sizeof(struct reply));
    execution->end.exit_code = -1;
    execution->exec = exec_new(execution->id, command,
                               machine_guest(session->machine), &exec_callbacks,
                               execution);
    g_ptr_array_add(session->executions, execution);
    g_ptr_array_add(session->execs, execution->exec);
    session->next_turn = next_turn;
    exec_hold(execution->exec, machine_is_held(session->machine));
    return execution;
}

void execution_begin(struct execution *execution)
{
    if (execution->step != COMMAND_ONE_STEP)
        exec_start(execution->exec);
    else
        next_turn(execution->session);
}
