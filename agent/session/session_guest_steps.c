/* SPDX-License-Identifier: Apache-2.0
 *
 * session_guest_steps - see session_guest_steps.h.
 */
#include "agent/session/session_guest_steps.h"

#include <string.h>

#include "agent/session/guest_request.h"
#include "agent/session/guest_step_text.h"
#include "agent/session/session.h"
#include "agent/session/session_folder.h"
#include "agent/session/session_guest_grants.h"
#include "common/errors.h"
#include "common/log.h"
#include "shim/wire.h"

enum {
    OWN_MAX = 10000,    /* steps of an execution that it may undo */
    SCOPES_MAX = 8,     /* nested scopes of an execution */
    HISTORY_MAX = 10000 /* steps that an undo looks at */
};

/* An undo that waits for a daemon. */
struct undo {
    struct session *session;
    guint64 serial;
};

static void open_step(struct execution *execution);
static bool guest_steps_next(struct session *session, gint64 before);
static void begin_undo(struct session *session, struct guest_request *request);

static void release_turn(struct execution *execution)
{
    struct session *session = execution->session;

    session->exec = NULL;
    execution->step_id = 0;
    log_set_step(0);
    session_command_over(session);
}

/* ---- open and close ------------------------------------------------------ */

static void on_opened(struct step_report *report, const GError *error,
                      void *opaque)
{
    struct execution *execution = opaque;
    struct session *session = execution->session;
    struct guest_steps *steps = execution->guest_steps;
    struct command line = *exec_command(execution->exec);
    struct session_event event = {
        .type = SESSION_EVENT_STEP_STARTED,
        .step_id = execution->step_id,
        .command = &line,
    };

    steps->busy = false;
    if (error) {
        g_ptr_array_set_size(steps->scopes, 0);
        if (steps->active)
            guest_request_refuse(session, steps->active, error->message);
        release_turn(execution);
        return;
    }
    line.text = guest_scope_innermost(steps)->text;
    session_send(session, &event);
    if (steps->active)
        guest_request_answer(session, steps->active, execution->step_id,
                             steps->active->answer, steps->active->error);
    guest_steps_next(session, G_MAXINT64);
}

/* Open a step for the innermost scope. */
static void open_step(struct execution *execution)
{
    struct session *session = execution->session;
    struct guest_steps *steps = execution->guest_steps;
    struct step_logs logs;

    session_get_logs(session, &logs);
    execution_take_turn(execution);
    steps->busy = true;
    exec_open_step(execution->exec, execution->step_id,
                   guest_scope_innermost(steps)->text, steps->scopes->len == 1,
                   &logs, on_opened);
}

static void keep_step(struct execution *execution, struct step_report *report)
{
    struct guest_steps *steps = execution->guest_steps;
    struct command line = *exec_command(execution->exec);

    if (!report->aborted && (report->affected > 0 || report->unchanged))
        step_budget_take(&steps->budget);
    if (steps->own->len == OWN_MAX)
        g_array_remove_index(steps->own, 0);
    g_array_append_val(steps->own, report->step_id);
    line.text = report->command;
    session_tell_step(execution->session, report, &line);
}

static void on_closed(struct step_report *report, const GError *error,
                      void *opaque)
{
    struct execution *execution = opaque;
    struct session *session = execution->session;
    struct guest_steps *steps = execution->guest_steps;
    struct guest_request *request = steps->active;

    steps->busy = false;
    if (!report) {
        g_ptr_array_set_size(steps->scopes, 0);
        if (request)
            guest_request_refuse(session, request, error->message);
        release_turn(execution);
        return;
    }
    keep_step(execution, report);
    if (!request) {
        release_turn(execution);
        return;
    }
    if (error && request->op == GUEST_STEP_END) /* it was cancelled or denied */
        request->error = g_strdup(error->message);
    if (request->op == GUEST_STEP_BEGIN) {
        open_step(execution);
    } else if (request->op == GUEST_STEP_UNDO) {
        session->exec = NULL;
        execution->step_id = 0;
        begin_undo(session, request);
    } else if (steps->scopes->len > 0) {
        open_step(execution); /* before the answer */
    } else {
        guest_request_answer(session, request, report->step_id, NULL,
                             request->error);
        release_turn(execution);
    }
}

/* Without a request it is unknown whether a process of the step is left. */
static void close_step(struct execution *execution,
                       struct guest_request *request, int exit_code)
{
    const struct command_end end = {
        .exit_code = exit_code,
        .has_processes = !request || request->has_processes,
    };

    execution->guest_steps->busy = true;
    execution->guest_steps->active = request;
    exec_close_step(execution->exec, &end, on_closed);
}

/* Return whether what follows joins the open step; *ret_ms: until when. A step
 * that was cancelled or denied takes nothing more. */
static bool must_join(const struct execution *execution, gint64 *ret_ms)
{
    *ret_ms = guest_steps_hold_turn(execution) &&
                      !exec_is_stopping(execution->exec)
                  ? step_budget_wait_ms(&execution->guest_steps->budget)
                  : 0;
    return *ret_ms > 0;
}

/* The step stayed open, because there was no token for its successor. */
static gboolean on_lingered(gpointer data)
{
    struct execution *execution = data;
    struct guest_steps *steps = execution->guest_steps;

    steps->linger = 0;
    if (!steps->busy && steps->scopes->len == 0 &&
        guest_steps_hold_turn(execution))
        close_step(execution, NULL, -1);
    return G_SOURCE_REMOVE;
}

static bool start_begin(struct execution *execution,
                        struct guest_request *request)
{
    struct session *session = execution->session;
    struct guest_steps *steps = execution->guest_steps;
    gint64 ms;

    if (!guest_steps_hold_turn(execution) && !execution_is_turn(session))
        return false;
    guest_scope_leave(steps, request->scope);
    if (steps->scopes->len == SCOPES_MAX)
        return guest_request_refuse(
            session, request, "too many steps are open within each other");
    guest_scope_enter(steps, request);
    if (must_join(execution, &ms)) {
        guest_request_answer(session, request, execution->step_id, NULL, NULL);
        return true;
    }
    steps->active = request;
    if (guest_steps_hold_turn(execution))
        close_step(execution, request, -1);
    else
        open_step(execution);
    return true;
}

static bool start_end(struct execution *execution,
                      struct guest_request *request)
{
    struct guest_steps *steps = execution->guest_steps;
    gint64 ms;

    if (!guest_scope_leave(steps, request->scope) ||
        !guest_steps_hold_turn(execution)) {
        guest_request_answer(execution->session, request, 0, NULL, NULL);
    } else if (must_join(execution, &ms)) {
        if (steps->scopes->len == 0 && !steps->linger)
            steps->linger = g_timeout_add((guint)ms, on_lingered, execution);
        guest_request_answer(execution->session, request, execution->step_id,
                             NULL, NULL);
    } else {
        close_step(execution, request, request->exit_code);
    }
    return true;
}

/* ---- undo ---------------------------------------------------------------- */

static void finish_undo(struct session *session, struct guest_request *request,
                        const char *text, const char *error)
{
    struct execution *execution = execution_find(session, request->exec_id);
    struct guest_steps *steps = execution->guest_steps;

    steps->busy = false;
    request->answer = g_strdup(text);
    request->error = error ? g_utf8_make_valid(error, -1) : NULL;
    if (steps->scopes->len > 0 && execution_is_turn(session)) {
        open_step(execution); /* before the answer */
    } else {
        guest_request_answer(session, request, 0, request->answer,
                             request->error);
        session_command_over(session);
    }
}

/* Choose the oldest step to undo, or return 0 and an error. */
static gint64 choose(const struct session *session,
                     const struct guest_steps *steps, gint64 count,
                     GPtrArray *list, GError **error)
{
    bool all = session->config->guest_undo == GUEST_UNDO_ALL;
    gint64 found = 0;

    for (guint i = 0; i < list->len; i++) {
        const struct step_report *report = g_ptr_array_index(list, i);

        if (report->unchanged)
            continue;
        if (!all && !guest_steps_is_own(steps, report->step_id)) {
            g_set_error(error, STEPBACK_ERROR, ERROR_NOTHING_TO_UNDO,
                        "step %" G_GINT64_FORMAT
                        " was not made by this command: only `stepback undo` "
                        "on the host can undo it (or start the sandbox with "
                        "--guest-undo=all)",
                        report->step_id);
            return 0;
        }
        if (++found == count)
            return report->step_id;
    }
    g_set_error(error, STEPBACK_ERROR, ERROR_NOTHING_TO_UNDO,
                "there are only %" G_GINT64_FORMAT " steps to undo", found);
    return 0;
}

static void on_rolled_back(const struct answer *result, const GError *error,
                           void *opaque)
{
    g_autofree struct undo *undo = opaque;
    struct guest_request *request = guest_request_find(undo->session,
                                                       undo->serial);
    g_autoptr(GString) text = g_string_new(NULL);
    GPtrArray *steps = result && result->result ? result->result->steps : NULL;

    if (!request)
        return;
    for (guint i = 0; steps && i < steps->len; i++) {
        const struct step_report *report = g_ptr_array_index(steps, i);

        if (!report->unchanged)
            guest_step_text_add_undone(text, report);
    }
    finish_undo(undo->session, request, text->str,
                error ? error->message : NULL);
}

static void on_history(const struct answer *result, const GError *error,
                       void *opaque)
{
    struct undo *undo = opaque;
    struct session *session = undo->session;
    struct guest_request *request = guest_request_find(session, undo->serial);
    struct undo_extent extent = { 0 };
    g_autoptr(GError) refusal = NULL;

    session->occupied = NULL;
    if (request && !error)
        extent.step_id = choose(
            session, execution_find(session, request->exec_id)->guest_steps,
            request->count, result->result->steps, &refusal);
    if (extent.step_id) {
        session_rollback(session, FOLDER_NONE, &extent, on_rolled_back, undo);
        return;
    }
    if (request)
        finish_undo(session, request, NULL,
                    error ? error->message : refusal->message);
    g_free(undo);
}

/* Nothing may change the history until its newest steps are known. */
static void begin_undo(struct session *session, struct guest_request *request)
{
    g_autoptr(GError) error = NULL;
    struct undo *undo;

    if (!session_check_idle(session, &error)) {
        finish_undo(session, request, NULL, error->message);
        return;
    }
    execution_find(session, request->exec_id)->guest_steps->busy = true;
    undo = g_new(struct undo, 1);
    *undo = (struct undo){ session, request->serial };
    session_history(session, FOLDER_NONE, HISTORY_MAX, on_history, undo);
    session->occupied = "a process in the guest undoes steps";
}

static bool start_undo(struct execution *execution,
                       struct guest_request *request)
{
    struct session *session = execution->session;

    if (session->occupied)
        return false;
    if (session->exec && !guest_steps_hold_turn(execution))
        return guest_request_refuse(
            session, request,
            "another command's step is open; wait until it ends");
    execution->guest_steps->active = request;
    if (guest_steps_hold_turn(execution))
        close_step(execution, request, -1);
    else
        begin_undo(session, request);
    return true;
}

/* ---- requests ------------------------------------------------------------ */

/* Return false if the request must wait. */
static bool try_start(struct session *session, struct guest_request *request)
{
    struct execution *execution = execution_find(session, request->exec_id);
    const char *refusal = guest_request_find_refusal(session, execution,
                                                     request);
    struct guest_steps *steps;

    if (refusal)
        return guest_request_refuse(session, request, refusal);
    steps = guest_steps_get(execution);
    if (steps->busy)
        return false;
    switch (request->op) {
    case GUEST_STEP_BEGIN:
        return start_begin(execution, request);
    case GUEST_STEP_END:
        return start_end(execution, request);
    case GUEST_STEP_LIST:
        return guest_request_list(session, steps, request);
    case GUEST_STEP_DIFF:
        return guest_request_diff(session, steps, request);
    case GUEST_STEP_UNDO:
        return start_undo(execution, request);
    case GUEST_STEP_WITHDRAW:
    case GUEST_STEP_GRANT:
        break;
    }
    return guest_request_refuse(session, request, "unknown operation");
}

static bool is_active(const struct session *session,
                      const struct guest_request *request)
{
    const struct execution *execution = execution_find(session,
                                                       request->exec_id);

    return execution && execution->guest_steps &&
           execution->guest_steps->active == request;
}

static bool guest_steps_next(struct session *session, gint64 before)
{
    guint i = 0;

    while (i < session->guest_requests->len) {
        struct guest_request *request = g_ptr_array_index(
            session->guest_requests, i);

        if (request->order >= before || is_active(session, request) ||
            !try_start(session, request))
            i++;
        else
            i = 0;
    }
    return !execution_is_turn(session);
}

static void withdraw(struct session *session,
                     const struct guest_step_request *from)
{
    for (guint i = 0; i < session->guest_requests->len; i++) {
        struct guest_request *request = g_ptr_array_index(
            session->guest_requests, i);

        if (request->number == from->number &&
            request->exec_id == from->exec_id &&
            request->op == GUEST_STEP_BEGIN && !is_active(session, request)) {
            guest_request_refuse(session, request, "withdrawn");
            return;
        }
    }
}

void session_on_step_request(const struct guest_step_request *from,
                             void *opaque)
{
    struct session *session = opaque;
    struct guest_request *request;

    if (from->op == GUEST_STEP_GRANT) {
        session_guest_grants_take(session, from);
        return;
    }
    if (from->op == GUEST_STEP_WITHDRAW) {
        if (!session_guest_grants_withdraw(session, from->exec_id,
                                           from->number))
            withdraw(session, from);
        return;
    }
    if (session->guest_requests->len >= WIRE_STEP_REQUESTS ||
        guest_request_is_pending(session, from->request)) {
        guest_channel_complain(machine_guest(session->machine),
                               "step request beyond the limit");
        return;
    }
    request = g_new0(struct guest_request, 1);
    request->serial = ++session->guest_serial;
    request->number = from->request;
    request->exec_id = from->exec_id;
    request->order = session->last_exec_id;
    request->op = from->op;
    request->scope = g_strdup(from->scope);
    request->text = g_strdup(from->text);
    request->count = from->op == GUEST_STEP_UNDO ? MAX(from->number, 1)
                                                 : from->number;
    request->exit_code = from->exit_code;
    request->has_processes = from->has_processes;
    g_ptr_array_add(session->guest_requests, request);
    guest_steps_next(session, G_MAXINT64);
}

static void guest_steps_end(struct execution *execution)
{
    struct session *session = execution->session;
    guint i = 0;

    session_guest_grants_end(session, execution->id);
    while (i < session->guest_requests->len) {
        struct guest_request *request = g_ptr_array_index(
            session->guest_requests, i);

        if (request->exec_id == execution->id)
            guest_request_refuse(session, request, "the command has ended");
        else
            i++;
    }
}

const struct session_guest_hooks session_guest_steps_hooks = {
    .next = guest_steps_next,
    .record = guest_steps_record,
    .end = guest_steps_end,
    .free = guest_steps_free,
};
