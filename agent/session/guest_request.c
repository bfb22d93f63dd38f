/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_request - see guest_request.h.
 */
#include "agent/session/guest_request.h"

#include <string.h>

#include "agent/session/guest_step_text.h"

enum { RECORDS_MAX = 50 }; /* steps in list */

/* ---- objects ------------------------------------------------------------- */

static void scope_free(gpointer data)
{
    struct guest_scope *scope = data;

    g_free(scope->name);
    g_free(scope->text);
    g_free(scope);
}

static void request_free(gpointer data)
{
    struct guest_request *request = data;

    g_free(request->scope);
    g_free(request->text);
    g_free(request->answer);
    g_free(request->error);
    g_free(request);
}

GPtrArray *guest_request_new_list(void)
{
    return g_ptr_array_new_with_free_func(request_free);
}

void guest_steps_free(struct guest_steps *steps)
{
    if (!steps)
        return;
    g_clear_handle_id(&steps->linger, g_source_remove);
    g_ptr_array_unref(steps->scopes);
    g_array_unref(steps->own);
    g_free(steps);
}

struct guest_steps *guest_steps_get(struct execution *execution)
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

bool guest_steps_is_own(const struct guest_steps *steps, gint64 id)
{
    for (guint i = steps->own->len; i-- > 0;) {
        if (g_array_index(steps->own, gint64, i) == id)
            return true;
    }
    return false;
}

struct guest_request *guest_request_find(const struct session *session,
                                         guint64 serial)
{
    for (guint i = 0; i < session->guest_requests->len; i++) {
        struct guest_request *request = g_ptr_array_index(
            session->guest_requests, i);

        if (request->serial == serial)
            return request;
    }
    return NULL;
}

/* Return whether the open step belongs to the execution. */
bool guest_steps_hold_turn(const struct execution *execution)
{
    return execution->exec && execution->session->exec == execution->exec;
}

bool guest_request_is_pending(const struct session *session, gint64 number)
{
    for (guint i = 0; i < session->guest_requests->len; i++) {
        const struct guest_request *request = g_ptr_array_index(
            session->guest_requests, i);

        if (request->number == number)
            return true;
    }
    return false;
}

const char *guest_request_find_refusal(const struct session *session,
                                       const struct execution *execution,
                                       const struct guest_request *request)
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

/* ---- answers ------------------------------------------------------------- */

void guest_request_answer(struct session *session,
                          struct guest_request *request, gint64 step_id,
                          const char *text, const char *error)
{
    struct execution *execution = execution_find(session, request->exec_id);

    guest_channel_answer_step(machine_guest(session->machine), request->number,
                              step_id, text, error);
    if (execution && execution->guest_steps &&
        execution->guest_steps->active == request)
        execution->guest_steps->active = NULL;
    g_ptr_array_remove(session->guest_requests, request);
}

bool guest_request_refuse(struct session *session,
                          struct guest_request *request, const char *error)
{
    g_autofree char *text = g_utf8_make_valid(error, -1);

    guest_request_answer(session, request, 0, NULL, text);
    return true;
}

void guest_steps_record(struct session *session, struct step_report *report)
{
    if (report->aborted)
        return;
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
            guest_steps_is_own(steps, report->step_id));
}

bool guest_request_list(struct session *session,
                        const struct guest_steps *steps,
                        struct guest_request *request)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (guint i = session->guest_records->len; i-- > 0;) {
        const struct step_report *report = g_ptr_array_index(
            session->guest_records, i);

        if (is_shown(session, steps, report) && !report->unchanged &&
            report->affected > 0)
            guest_step_text_add(text, report);
    }
    guest_request_answer(session, request, 0, text->str, NULL);
    return true;
}

bool guest_request_diff(struct session *session,
                        const struct guest_steps *steps,
                        struct guest_request *request)
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
        guest_request_answer(session, request, report->step_id, text->str,
                             NULL);
        return true;
    }
    return guest_request_refuse(
        session, request,
        request->count ? "no such step of this command; `step list` "
                         "shows those that are known"
                       : "this command has changed nothing yet");
}

/* ---- scopes -------------------------------------------------------------- */

bool guest_scope_leave(struct guest_steps *steps, const char *name)
{
    for (guint i = 0; i < steps->scopes->len; i++) {
        const struct guest_scope *scope = g_ptr_array_index(steps->scopes, i);

        if (strcmp(scope->name, name) != 0)
            continue;
        g_ptr_array_set_size(steps->scopes, (gint)i);
        return true;
    }
    return false;
}

void guest_scope_enter(struct guest_steps *steps, struct guest_request *request)
{
    struct guest_scope *scope = g_new(struct guest_scope, 1);

    scope->name = g_strdup(request->scope);
    scope->text = g_strdup(request->text);
    g_ptr_array_add(steps->scopes, scope);
}

const struct guest_scope *guest_scope_innermost(const struct guest_steps *steps)
{
    return g_ptr_array_index(steps->scopes, steps->scopes->len - 1);
}
