/* SPDX-License-Identifier: Apache-2.0
 *
 * exec - see exec.h.
 *
 * States: WAITING (for its turn) -> OPENING (step.open is sent) -> RUNNING (the
 * shim has the command) -> CLOSING (step.close is sent) -> OVER. OPENING and
 * CLOSING are left out if there is no step.
 *
 * Two timers: the command's timeout, and the grace period in which the guest
 * must end a cancelled command. Both are suspended while the machine is held.
 */
#include "agent/session/exec.h"

#include "agent/session/exec_flow.h"
#include "agent/session/held_timer.h"
#include "agent/session/line_stop.h"
#include "agent/session/step_span.h"
#include "common/log.h"

/* The shim sends SIGKILL after 2 s; allow 8 s more for its report. */
enum { STUCK_MS = 10000 };

enum state { WAITING, OPENING, RUNNING, CLOSING, OVER };

struct exec {
    enum state state;
    gint64 id, step_id;
    struct command *command;
    struct step_span *span;   /* NULL: no step, or not yet */
    char *step_text;          /* of a step within the command, or NULL */
    exec_step_done step_done; /* NULL: no such step is being opened or closed */
    struct exec_flow *flow;
    struct guest_channel *guest;
    const struct exec_callbacks *callbacks;
    void *opaque;

    int exit_code; /* -1: the command never ran, or its status is unknown */
    int number;    /* the signal that ended it, or 0 */
    int oom_kills; /* as in struct command_end */
    bool settled;  /* no process of the command is left that could change a file
                    */
    gint64 started;
    guint64 dropped;
    struct held_timer timer;
    int stop_reason; /* enum error_code, or 0 */
    int step_stop;   /* the same for the open step within the command */
    bool is_line;    /* that step is a line of a shell */
    struct line_stop line_stop;
    char *refusal; /* why the shim did not take the command, or NULL */
};

void exec_hold(struct exec *exec, bool hold)
{
    held_timer_hold(&exec->timer, hold);
    line_stop_hold(&exec->line_stop, hold);
}

/* ---- the end ------------------------------------------------------------- */

static void finish(struct exec *exec, struct step_report *report,
                   const GError *error)
{
    if (exec->state == OVER)
        return;
    exec->state = OVER;
    held_timer_stop(&exec->timer);
    exec->callbacks->done(exec, report, error, exec->opaque);
}

/* Build a minimal report when no log records steps. */
static struct step_report *plain_report(const struct exec *exec)
{
    struct step_report *report = step_report_new();

    report->step_id = exec->step_id;
    report->type = g_strdup("command");
    report->command = g_strdup(exec->step_text ? exec->step_text
                                               : exec->command->text);
    report->exit_code = exec->exit_code;
    report->duration_ms = (g_get_monotonic_time() - exec->started) / 1000;
    report->parts = g_ptr_array_new();
    return report;
}

/* A refusal that arrives after the start may concern the cancel (an old shim),
 * or come from a hostile guest. */
static GError *stop_error(const struct exec *exec)
{
    int reason = exec->stop_reason ? exec->stop_reason : exec->step_stop;

    if (reason == ERROR_TIMEOUT)
        return g_error_new(
            STEPBACK_ERROR, ERROR_TIMEOUT,
            "the command exceeded its timeout of %u s and was stopped",
            exec->command->timeout_seconds);
    if (reason == ERROR_DENIED)
        return g_error_new_literal(
            STEPBACK_ERROR, ERROR_DENIED,
            "a safeguard denied the step: it was rolled back");
    if (reason)
        return g_error_new_literal(STEPBACK_ERROR, reason,
                                   "the command was cancelled");
    if (exec->refusal)
        return g_error_new(STEPBACK_ERROR, ERROR_INVALID_FIELD,
                           "the guest refused the command: %s", exec->refusal);
    return NULL;
}

static void on_step_closed(struct step_report *report, const GError *error,
                           void *opaque)
{
    struct exec *exec = opaque;
    g_autoptr(GError) why = NULL;
    struct step_report *own;

    if (exec->state != CLOSING)
        return;
    if (error) {
        finish(exec, NULL, error);
        return;
    }
    own = report ? step_report_ref(report) : plain_report(exec);
    own->number = exec->number;
    own->oom_kills = exec->oom_kills;
    own->dropped = (gint64)exec->dropped;
    why = stop_error(exec);
    exec->callbacks->completed(exec, own, exec->opaque);
    finish(exec, own, why);
    step_report_unref(own);
}

/* The command has ended, or never began. */
static void close_step(struct exec *exec)
{
    held_timer_stop(&exec->timer);
    line_stop_end(&exec->line_stop);
    exec_flow_end(exec->flow);
    if (!exec->span) {
        g_autoptr(GError) why = stop_error(exec);

        finish(exec, NULL, why);
        return;
    }
    exec->state = CLOSING;
    if (exec->step_done) /* on_inner_opened() or on_inner_closed() continues */
        return;
    step_span_close(exec->span, exec->exit_code,
                    exec->settled ? STEP_ALONE : STEP_PROCESSES, on_step_closed,
                    exec);
}

/* ---- steps within a command ---------------------------------------------- */

static void end_inner_step(struct exec *exec)
{
    g_clear_pointer(&exec->span, step_span_free);
    line_stop_end(&exec->line_stop);
    exec->step_id = 0;
    exec->step_stop = 0;
}

static void on_inner_opened(struct step_report *report, const GError *error,
                            void *opaque)
{
    struct exec *exec = opaque;
    exec_step_done done = g_steal_pointer(&exec->step_done);

    if (error)
        end_inner_step(exec);
    if (exec->state == CLOSING)
        close_step(exec);
    else if (exec->state == RUNNING)
        done(NULL, error, exec->opaque);
}

static void on_inner_closed(struct step_report *report, const GError *error,
                            void *opaque)
{
    struct exec *exec = opaque;
    exec_step_done done = g_steal_pointer(&exec->step_done);
    g_autoptr(GError) why = NULL;
    struct step_report *own;

    if (exec->state != RUNNING) {
        on_step_closed(report, error, exec);
        return;
    }
    own = report ? step_report_ref(report) : plain_report(exec);
    why = stop_error(exec);
    end_inner_step(exec);
    done(error ? NULL : own, error ? error : why, exec->opaque);
    step_report_unref(own);
}

void exec_open_step(struct exec *exec, gint64 step_id, const char *text,
                    bool is_line, const struct step_logs *logs,
                    exec_step_done done)
{
    exec->is_line = is_line;
    g_free(exec->step_text);
    exec->step_text = g_strdup(text);
    exec->step_done = done;
    exec->step_id = step_id;
    exec->span = step_span_new(step_id, logs);
    step_span_open(exec->span, text, on_inner_opened, exec);
}

void exec_close_step(struct exec *exec, const struct command_end *end,
                     exec_step_done done)
{
    exec->step_done = done;
    step_span_close(exec->span, end->exit_code,
                    end->has_processes ? STEP_BACKGROUND : STEP_ALONE,
                    on_inner_closed, exec);
}

bool exec_join_step(struct exec *exec, gint64 step_id,
                    struct control_link *link, const char *label,
                    step_span_joined done, void *opaque)
{
    return exec->span && step_span_join(exec->span, step_id,
                                        exec->step_text ? exec->step_text
                                                        : exec->command->text,
                                        link, label, done, opaque);
}

/* ---- the command --------------------------------------------------------- */

static void on_timeout(void *opaque)
{
    struct exec *exec = opaque;

    exec_cancel(exec, ERROR_TIMEOUT);
}

static void on_stuck(void *opaque)
{
    struct exec *exec = opaque;

    exec->callbacks->stuck(exec, exec->opaque);
}

static void run(struct exec *exec)
{
    if (exec->stop_reason) { /* cancelled before it began */
        close_step(exec);
        return;
    }
    exec->state = RUNNING;
    exec->callbacks->started(exec, exec->command, exec->opaque);
    guest_channel_exec(exec->guest, exec->id, exec->command);
    exec_flow_start(exec->flow);
    if (exec->command->timeout_seconds > 0)
        held_timer_start(&exec->timer,
                         (gint64)exec->command->timeout_seconds * 1000,
                         on_timeout, exec);
}

static void on_step_opened(struct step_report *report, const GError *error,
                           void *opaque)
{
    struct exec *exec = opaque;

    if (exec->state == OPENING && error)
        finish(exec, NULL, error);
    else if (exec->state == OPENING)
        run(exec);
}

struct exec *exec_new(gint64 id, struct command *command,
                      struct guest_channel *guest,
                      const struct exec_callbacks *callbacks, void *opaque)
{
    struct exec *exec = g_new0(struct exec, 1);

    exec->state = WAITING;
    exec->id = id;
    exec->command = command;
    exec->guest = guest;
    exec->flow = exec_flow_new(id, guest);
    exec->callbacks = callbacks;
    exec->opaque = opaque;
    exec->exit_code = -1;
    return exec;
}

void exec_start_step(struct exec *exec, gint64 step_id,
                     const struct step_logs *logs)
{
    exec->state = OPENING;
    exec->started = g_get_monotonic_time();
    exec->step_id = step_id;
    exec->span = step_span_new(step_id, logs);
    step_span_open(exec->span, exec->command->text, on_step_opened, exec);
}

void exec_start(struct exec *exec)
{
    exec->started = g_get_monotonic_time();
    run(exec);
}

void exec_free(struct exec *exec)
{
    if (!exec)
        return;
    held_timer_stop(&exec->timer);
    line_stop_end(&exec->line_stop);
    step_span_free(exec->span);
    exec_flow_free(exec->flow);
    command_free(exec->command);
    g_free(exec->refusal);
    g_free(exec->step_text);
    g_free(exec);
}

gint64 exec_id(const struct exec *exec)
{
    return exec->id;
}

const struct command *exec_command(const struct exec *exec)
{
    return exec->command;
}

bool exec_is_waiting(const struct exec *exec)
{
    return exec->state == WAITING;
}

bool exec_is_running(const struct exec *exec)
{
    return exec->state == RUNNING;
}

struct command_end exec_end(const struct exec *exec)
{
    return (struct command_end){ .exit_code = exec->exit_code,
                                 .signal = exec->number,
                                 .has_processes = !exec->settled,
                                 .oom_kills = exec->oom_kills };
}

void exec_consume(struct exec *exec, size_t len)
{
    exec_flow_consume(exec->flow, len);
}

gboolean exec_input(struct exec *exec, GBytes *data, bool eof, reply_done done,
                    void *opaque, GError **error)
{
    return exec_flow_input(exec->flow, data, eof, done, opaque, error);
}

gint64 exec_step_id(const struct exec *exec)
{
    return exec->step_id;
}

bool exec_has_step(const struct exec *exec, gint64 step_id)
{
    return exec->step_id == step_id ||
           (exec->span && step_span_has(exec->span, step_id));
}

bool exec_is_stopping(const struct exec *exec)
{
    return exec->stop_reason != 0 || exec->step_stop != 0;
}

static void stop_command(struct exec *exec)
{
    if (exec->state != RUNNING)
        return; /* run() handles it */
    guest_channel_cancel(exec->guest, exec->id);
    held_timer_start(&exec->timer, STUCK_MS, on_stuck, exec);
}

void exec_cancel(struct exec *exec, enum error_code reason)
{
    if (exec->stop_reason || exec->state == CLOSING || exec->state == OVER)
        return;
    exec->stop_reason = (int)reason;
    if (exec->state == WAITING)
        close_step(exec);
    else
        stop_command(exec);
}

static bool has_lines(const struct exec *exec)
{
    return exec->state == RUNNING &&
           exec->command->step == COMMAND_PROMPT_STEPS &&
           exec->command->rows > 0;
}

static void on_line_goes_on(void *opaque)
{
    exec_cancel(opaque, ERROR_CANCELLED);
}

static void end_line(struct exec *exec)
{
    if (!exec->line_stop.timer.func)
        line_stop_begin(&exec->line_stop, exec->guest, exec->id,
                        on_line_goes_on, exec);
}

void exec_cancel_step(struct exec *exec)
{
    if (!has_lines(exec) || exec->stop_reason) {
        exec_cancel(exec, ERROR_CANCELLED);
        return;
    }
    if (!exec->step_stop)
        exec->step_stop = ERROR_CANCELLED;
    end_line(exec);
}

/* The rest of a denied step can change nothing. */
static void deny_inner_step(struct exec *exec)
{
    if (exec->stop_reason || exec->step_stop)
        return;
    exec->step_stop = ERROR_DENIED;
    if (has_lines(exec) && exec->is_line)
        end_line(exec);
}

void exec_deny(struct exec *exec, struct control_link *where)
{
    if (exec->state == OVER)
        return;
    step_span_deny(exec->span, where);
    if (exec->command->step != COMMAND_ONE_STEP) {
        deny_inner_step(exec);
        return;
    }
    if (exec->stop_reason)
        return; /* the first reason counts */
    exec->stop_reason = ERROR_DENIED;
    stop_command(exec);
}

void exec_leave(struct exec *exec)
{
    if (exec->state == RUNNING)
        close_step(exec);
}

void exec_fail(struct exec *exec, const GError *error)
{
    finish(exec, NULL, error);
}

bool exec_take_output(struct exec *exec, const struct command_output *output)
{
    struct command_output own = *output;

    if (exec->state != RUNNING || !exec_flow_take(exec->flow, output->len))
        return false;
    own.step_id = exec->step_id;
    if (!exec->callbacks->output(exec, &own, exec->opaque))
        exec->dropped++;
    return true;
}

bool exec_take_input_taken(struct exec *exec, size_t bytes)
{
    return exec->state == RUNNING && exec_flow_taken(exec->flow, bytes);
}

bool exec_take_completed(struct exec *exec, const struct command_end *end)
{
    if (exec->state != RUNNING)
        return false;
    exec->exit_code = end->exit_code;
    exec->number = end->signal;
    exec->oom_kills = end->oom_kills;
    exec->settled = !end->has_processes;
    close_step(exec);
    return true;
}

bool exec_take_refused(struct exec *exec, const char *message)
{
    if (exec->state != RUNNING)
        return false;
    exec->refusal = g_strdup(message);
    close_step(exec);
    return true;
}
