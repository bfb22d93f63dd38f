/* SPDX-License-Identifier: Apache-2.0
 *
 * session_guest_steps - see session_guest_steps.h.
 */
#include "agent/session/session_guest_steps.h"

#include <string.h>

#include "agent/session/guest_step_text.h"
#include "agent/session/session.h"
#include "agent/session/session_folder.h"
#include "common/errors.h"
#include "common/log.h"
#include "shim/wire.h"

enum {
    RECORDS_MAX = 50,   /* steps in list */
    OWN_MAX = 10000,    /* steps of an execution that it may undo */
    SCOPES_MAX = 8,     /* nested scopes of an execution */
    HISTORY_MAX = 10000 /* steps that an undo looks at */
};

struct scope {
    char *name, *text;
};

struct request {
    guint64 serial; /* unlike the number not chosen by the guest */
    gint64 number, exec_id;
    gint64 order; /* the last execution before the request */
    enum guest_step_op op;
    char *scope, *text;
    gint64 count;
    int exit_code;
    char *answer,
        *error; /* the answer, when the enclosing scope's step is open */
};

struct guest_steps {
    GPtrArray *scopes; /* of struct scope, the innermost is the last */
    GArray *own;       /* of gint64: ids of closed steps */
    bool busy;         /* a step is being opened or closed, or an undo runs */
    struct request *active; /* the request that is being carried out, or NULL */
};

/* An undo that waits for a daemon. */
struct undo {
    struct session *session;
    guint64 serial;
};

static void open_step(struct execution *execution);
static void begin_undo(struct session *session, struct request *request);

/* ---- objects ------------------------------------------------------------- */

static void scope_free(gpointer data)
{
    struct scope *scope = data;

    g_free(scope->name);
    g_free(scope->text);
    g_free(scope);
}

static void request_free(gpointer data)
{
    struct request *request = data;

    g_free(request->scope);
    g_free(request->text);
    g_free(request->answer);
    g_free(request->error);
    g_free(request);
}

GPtrArray *session_guest_steps_new_list(void)
{
    return g_ptr_array_new_with_free_func(request_free);
}

void session_guest_steps_free(struct guest_steps *steps)
{
    if (!steps)
        return;
    g_ptr_array_unref(steps->scopes);
    g_array_unref(steps->own);
    g_free(steps);
}

static struct guest_steps *get_steps(struct execution *execution)
{
    struct guest_steps *steps = execution->guest_steps;

    if (steps)
        return steps;
    steps = g_new0(struct guest_steps, 1);
    steps->scopes = g_ptr_array_new_with_free_func(scope_free);
    steps->own = g_array_new(FALSE, FALSE, sizeof(gint64));
    execution->guest_steps = steps;
    return steps;
}

static bool is_own(const struct guest_steps *steps, gint64 id)
{
    for (guint i = steps->own->len; i-- > 0;) {
        if (g_array_index(steps->own, gint64, i) == id)
            return true;
    }
    return false;
}

static struct request *find(const struct session *session, guint64 serial)
{
    for (guint i = 0; i < session->guest_requests->len; i++) {
        struct request *request = g_ptr_array_index(session->guest_requests, i);

        if (request->serial == serial)
            return request;
    }
    return NULL;
}

/* Return whether the open step belongs to the execution. */
static bool holds_turn(const struct execution *execution)
{
    return execution->exec && execution->session->exec == execution->exec;
}

static void release_turn(struct execution *execution)
{
    struct session *session = execution->session;

    session->exec = NULL;
    execution->step_id = 0;
    log_set_step(0);
    session_command_over(session);
}

/* ---- answers ------------------------------------------------------------- */

/* Answer the request and forget it. */
static void answer(struct session *session, struct request *request,
                   gint64 step_id, const char *text, const char *error)
{
    struct execution *execution = execution_find(session, request->exec_id);

    guest_channel_answer_step(machine_guest(session->machine), request->number,
                              step_id, text, error);
    if (execution && execution->guest_steps &&
        execution->guest_steps->active == request)
        execution->guest_steps->active = NULL;
    g_ptr_array_remove(session->guest_requests, request);
}

static bool refuse(struct session *session, struct request *request,
                   const char *error)
{
    g_autofree char *text = g_utf8_make_valid(error, -1);

    answer(session, request, 0, NULL, text);
    return true;
}

void session_guest_steps_record(struct session *session,
                                struct step_report *report)
{
    g_ptr_array_add(session->guest_records, step_report_ref(report));
    if (session->guest_records->len > RECORDS_MAX)
        g_ptr_array_remove_index(session->guest_records, 0);
}

/* Return whether list and diff show a step: it was not undone, and the policy
 * allows it. */
static bool is_shown(const struct session *session,
                     const struct guest_steps *steps,
                     const struct step_report *report)
{
    return !g_hash_table_contains(session->undone, &report->step_id) &&
           (session->config->guest_undo == GUEST_UNDO_ALL ||
            is_own(steps, report->step_id));
}

static bool show_list(struct session *session, const struct guest_steps *steps,
                      struct request *request)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (guint i = session->guest_records->len; i-- > 0;) {
        const struct step_report *report = g_ptr_array_index(
            session->guest_records, i);

        if (is_shown(session, steps, report) && !report->unchanged &&
            report->affected > 0)
            guest_step_text_add(text, report);
    }
    answer(session, request, 0, text->str, NULL);
    return true;
}

static bool show_changes(struct session *session,
                         const struct guest_steps *steps,
                         struct request *request)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (guint i = session->guest_records->len; i-- > 0;) {
        const struct step_report *report = g_ptr_array_index(
            session->guest_records, i);
        bool wanted = request->count ? report->step_id == request->count
                                     : report->affected > 0;

        if (!wanted || !is_shown(session, steps, report))
            continue;
        guest_step_text_add_changes(text, report);
        answer(session, request, report->step_id, text->str, NULL);
        return true;
    }
    return refuse(session, request,
                  request->count ? "no such step of this command; `step list` "
                                   "shows those that are known"
                                 : "this command has changed nothing yet");
}

/* ---- scopes -------------------------------------------------------------- */

/* End this scope and those within it. Return false if there is none. */
static bool leave_scope(struct guest_steps *steps, const char *name)
{
    for (guint i = 0; i < steps->scopes->len; i++) {
        const struct scope *scope = g_ptr_array_index(steps->scopes, i);

        if (strcmp(scope->name, name) != 0)
            continue;
        g_ptr_array_set_size(steps->scopes, (gint)i);
        return true;
    }
    return false;
}

static void enter_scope(struct guest_steps *steps, struct request *request)
{
    struct scope *scope = g_new(struct scope, 1);

    scope->name = g_strdup(request->scope);
    scope->text = g_strdup(request->text);
    g_ptr_array_add(steps->scopes, scope);
}

static const struct scope *innermost(const struct guest_steps *steps)
{
    return g_ptr_array_index(steps->scopes, steps->scopes->len - 1);
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
            refuse(session, steps->active, error->message);
        release_turn(execution);
        return;
    }
    line.text = innermost(steps)->text;
    session_send(session, &event);
    if (steps->active)
        answer(session, steps->active, execution->step_id,
               steps->active->answer, steps->active->error);
    session_guest_steps_next(session, G_MAXINT64);
}

/* Open a step for the innermost scope. */
static void open_step(struct execution *execution)
{
    struct session *session = execution->session;
    struct step_logs logs;

    session_get_logs(session, &logs);
    execution_take_turn(execution);
    execution->guest_steps->busy = true;
    exec_open_step(execution->exec, execution->step_id,
                   innermost(execution->guest_steps)->text, &logs, on_opened);
}

static void keep_step(struct execution *execution, struct step_report *report)
{
    struct guest_steps *steps = execution->guest_steps;
    struct command line = *exec_command(execution->exec);

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
    struct request *request = steps->active;

    steps->busy = false;
    if (error) {
        g_ptr_array_set_size(steps->scopes, 0);
        refuse(session, request, error->message);
        release_turn(execution);
        return;
    }
    keep_step(execution, report);
    if (request->op == GUEST_STEP_BEGIN) {
        open_step(execution);
    } else if (request->op == GUEST_STEP_UNDO) {
        session->exec = NULL;
        execution->step_id = 0;
        begin_undo(session, request);
    } else if (steps->scopes->len > 0) {
        open_step(execution); /* before the answer */
    } else {
        answer(session, request, report->step_id, NULL, NULL);
        release_turn(execution);
    }
}

static void close_step(struct execution *execution, struct request *request,
                       int exit_code)
{
    execution->guest_steps->busy = true;
    execution->guest_steps->active = request;
    exec_close_step(execution->exec, exit_code, on_closed);
}

static bool start_begin(struct execution *execution, struct request *request)
{
    struct session *session = execution->session;
    struct guest_steps *steps = execution->guest_steps;

    if (!holds_turn(execution) && !execution_is_turn(session))
        return false;
    leave_scope(steps, request->scope);
    if (steps->scopes->len == SCOPES_MAX)
        return refuse(session, request,
                      "too many steps are open within each other");
    enter_scope(steps, request);
    steps->active = request;
    if (holds_turn(execution))
        close_step(execution, request, -1);
    else
        open_step(execution);
    return true;
}

static bool start_end(struct execution *execution, struct request *request)
{
    if (!leave_scope(execution->guest_steps, request->scope) ||
        !holds_turn(execution))
        answer(execution->session, request, 0, NULL, NULL);
    else
        close_step(execution, request, request->exit_code);
    return true;
}

/* ---- undo ---------------------------------------------------------------- */

static void finish_undo(struct session *session, struct request *request,
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
        answer(session, request, 0, request->answer, request->error);
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
        if (!all && !is_own(steps, report->step_id)) {
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
    struct request *request = find(undo->session, undo->serial);
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
    struct request *request = find(session, undo->serial);
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
static void begin_undo(struct session *session, struct request *request)
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

static bool start_undo(struct execution *execution, struct request *request)
{
    struct session *session = execution->session;

    if (session->occupied)
        return false;
    if (session->exec && !holds_turn(execution))
        return refuse(session, request,
                      "another command's step is open; wait until it ends");
    execution->guest_steps->active = request;
    if (holds_turn(execution))
        close_step(execution, request, -1);
    else
        begin_undo(session, request);
    return true;
}

/* ---- requests ------------------------------------------------------------ */

/* Return why the request is refused, or NULL. */
static const char *find_refusal(const struct session *session,
                                const struct execution *execution,
                                const struct request *request)
{
    bool marks = request->op == GUEST_STEP_BEGIN ||
                 request->op == GUEST_STEP_END;

    if (!execution || !execution->exec || !exec_is_running(execution->exec))
        return "the command has ended";
    if (!marks && session->config->guest_undo == GUEST_UNDO_NONE)
        return "the sandbox was started with --guest-undo=none: only "
               "`stepback undo` on the host can undo steps";
    if (execution->step == COMMAND_ONE_STEP)
        return "the whole command is one step, which is still open; to "
               "divide it into steps, start it with `stepback shell`, or "
               "`stepback exec --step=none`";
    return NULL;
}

/* Return false if the request must wait. */
static bool try_start(struct session *session, struct request *request)
{
    struct execution *execution = execution_find(session, request->exec_id);
    const char *refusal = find_refusal(session, execution, request);
    struct guest_steps *steps;

    if (refusal)
        return refuse(session, request, refusal);
    steps = get_steps(execution);
    if (steps->busy)
        return false;
    switch (request->op) {
    case GUEST_STEP_BEGIN:
        return start_begin(execution, request);
    case GUEST_STEP_END:
        return start_end(execution, request);
    case GUEST_STEP_LIST:
        return show_list(session, steps, request);
    case GUEST_STEP_DIFF:
        return show_changes(session, steps, request);
    case GUEST_STEP_UNDO:
        return start_undo(execution, request);
    case GUEST_STEP_WITHDRAW:
        break;
    }
    return refuse(session, request, "unknown operation");
}

static bool is_active(const struct session *session,
                      const struct request *request)
{
    const struct execution *execution = execution_find(session,
                                                       request->exec_id);

    return execution && execution->guest_steps &&
           execution->guest_steps->active == request;
}

bool session_guest_steps_next(struct session *session, gint64 before)
{
    guint i = 0;

    while (i < session->guest_requests->len) {
        struct request *request = g_ptr_array_index(session->guest_requests, i);

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
        struct request *request = g_ptr_array_index(session->guest_requests, i);

        if (request->number == from->number &&
            request->exec_id == from->exec_id &&
            request->op == GUEST_STEP_BEGIN && !is_active(session, request)) {
            refuse(session, request, "withdrawn");
            return;
        }
    }
}

static bool is_pending(const struct session *session, gint64 number)
{
    for (guint i = 0; i < session->guest_requests->len; i++) {
        const struct request *request = g_ptr_array_index(
            session->guest_requests, i);

        if (request->number == number)
            return true;
    }
    return false;
}

void session_on_step_request(const struct guest_step_request *from,
                             void *opaque)
{
    struct session *session = opaque;
    struct request *request;

    if (from->op == GUEST_STEP_WITHDRAW) {
        withdraw(session, from);
        return;
    }
    if (session->guest_requests->len >= WIRE_STEP_REQUESTS ||
        is_pending(session, from->request)) {
        guest_channel_complain(machine_guest(session->machine),
                               "step request beyond the limit");
        return;
    }
    request = g_new0(struct request, 1);
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
    g_ptr_array_add(session->guest_requests, request);
    session_guest_steps_next(session, G_MAXINT64);
}

void session_guest_steps_end(struct execution *execution)
{
    struct session *session = execution->session;
    guint i = 0;

    while (i < session->guest_requests->len) {
        struct request *request = g_ptr_array_index(session->guest_requests, i);

        if (request->exec_id == execution->id)
            refuse(session, request, "the command has ended");
        else
            i++;
    }
}
