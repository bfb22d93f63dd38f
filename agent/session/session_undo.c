/* SPDX-License-Identifier: Apache-2.0
 *
 * session_undo - see session.h: requests to the undo logs.
 *
 * A request goes to one folder's daemon, or in turn to all that record steps
 * (session_spread.h). An undo across several folders is planned first: the
 * histories tell which steps of each log are the newest overall, and a preview
 * in each folder detects outside edits. So either all folders are undone or, as
 * far as can be known in advance, none.
 */
#include "agent/session/session_spread.h"

#include <string.h>

#include "agent/client/engine_request.h"
#include "agent/client/report_json.h"
#include "agent/client/settings_json.h"
#include "agent/client/step_merge.h"
#include "agent/session/redo_units.h"
#include "agent/session/session.h"
#include "agent/session/session_core.h"
#include "agent/session/session_plan.h"
#include "agent/session/session_undo.h"
#include "common/errors.h"

static bool is_type(const struct session_spread *spread, const char *type)
{
    return strcmp(spread->type, type) == 0;
}

/* ---- redo ---------------------------------------------------------------- */

/* Add each folder's number of redoable steps. */
static void add_redoable(const struct session_spread *spread,
                         struct undo_result *result)
{
    for (unsigned i = 0; i < spread->n; i++)
        undo_result_add_count(result, session_spread_label(spread, i),
                              spread->redoable[i]);
}

static GError *plan_redo(struct session_spread *spread)
{
    unsigned units = redo_units_count(spread, spread->steps, spread->counts);

    if (units == spread->steps)
        return NULL;
    if (!redo_units_has_others(spread, spread->counts))
        return session_plan_too_few(ERROR_NOTHING_TO_REDO, units, spread->steps,
                                    "redo");
    return g_error_new(
        STEPBACK_ERROR, ERROR_NOTHING_TO_REDO,
        "%u steps can be redone in all folders, not %u: one folder of the next "
        "step has changed since; name a directory to redo only its part",
        units, spread->steps);
}

static void begin_redo(struct session_spread *spread)
{
    g_autoptr(GError) error = plan_redo(spread);
    struct answer answer = { 0 };

    if (!error) {
        session_spread_begin(spread, "redo");
        return;
    }
    answer.result = undo_result_new();
    answer.result->steps = step_report_list_new();
    add_redoable(spread, answer.result);
    session_spread_finish(spread, &answer, error);
    undo_result_free(answer.result);
}

/* ---- planning ------------------------------------------------------------ */

static void begin_preview(struct session_spread *spread)
{
    g_autoptr(GError) error = session_plan_make(spread);

    if (error)
        session_spread_finish(spread, NULL, error);
    else
        session_spread_begin(spread, "preview");
}

/* ---- the end ------------------------------------------------------------- */

/* Other parties than the caller show the history too. Return false if a
 * droppable event was dropped. */
static bool notify_history(struct session *session, const char *operation,
                           GPtrArray *steps, bool truncated, bool droppable)
{
    const struct session_event event = {
        .type = SESSION_EVENT_HISTORY,
        .droppable = droppable,
        .operation = operation,
        .steps = steps,
        .truncated = truncated,
    };

    return session_send(session, &event);
}

static void note_moved(struct session *session, const char *operation,
                       GPtrArray *steps)
{
    redo_units_note(session, steps, strcmp(operation, "rollback") == 0);
}

static void note_discarded(struct session *session, unsigned index)
{
    backends_set_undo(machine_backends(session->machine), index);
}

/* ---- changes by other clients -------------------------------------------- */

/* Other clients may undo any number of times while the frontend does not read.
 * If the frontend's queue is full, coalesce their changes into one pending
 * notification; the frontend's next history request returns the current state
 * anyway. */
static void notify_history_of_others(struct session *session,
                                     const char *operation, GPtrArray *steps,
                                     bool truncated)
{
    bool sent = notify_history(session, operation, steps, truncated, true);
    g_autoptr(GPtrArray) none = step_report_list_new();

    if (!sent && !session->history_missed)
        notify_history(session, operation, none, true, false);
    session->history_missed = !sent;
}

/* A new step of another client has used up its id. */
static void note_ids(struct session *session, GPtrArray *steps)
{
    for (guint i = 0; i < steps->len; i++) {
        const struct step_report *report = g_ptr_array_index(steps, i);

        session->last_step_id = MAX(session->last_step_id, report->step_id);
    }
}

void session_undo_take_event(struct session *session, unsigned index,
                             json_t *payload)
{
    const char *label = session->config->directories[index]->label;
    g_autofree char *operation = NULL;
    bool truncated;
    g_autoptr(GPtrArray)
        list = history_from_json(payload, label, &operation, &truncated);
    g_autoptr(GPtrArray)
        steps = step_merge_lists(&list, 1, SIZE_MAX, false, NULL);

    notify_history_of_others(session, operation, steps, truncated);
    if (strcmp(operation, "restore") == 0)
        note_ids(session, steps);
    if (strcmp(operation, "discard") == 0)
        note_discarded(session, index);
    else
        note_moved(session, operation, steps);
}

/* Merge the steps of all answers to the last request. */
static GPtrArray *merge_steps(struct session_spread *spread, size_t limit)
{
    return step_merge_lists(spread->lists, spread->n, limit,
                            is_type(spread, "redo"), NULL);
}

/* Newest first. */
static int compare_barriers(const void *a, const void *b)
{
    const struct undo_barrier *const *x = a, *const *y = b;

    return g_strcmp0((*y)->timestamp, (*x)->timestamp);
}

static void finish_history(struct session_spread *spread)
{
    struct undo_result *result = spread->result;
    const struct answer answer = { .result = result };

    result->steps = merge_steps(spread, spread->steps);
    g_ptr_array_sort(result->barriers, compare_barriers);
    result->last_step_id = spread->session->last_step_id;
    result->redoable = redo_units_count_all(spread);
    add_redoable(spread, result);
    g_clear_pointer(&result->warnings, g_ptr_array_unref);
    g_clear_pointer(&result->not_restored, g_ptr_array_unref);
    session_spread_finish(spread, &answer, NULL);
}

static void finish_steps(struct session_spread *spread, GPtrArray *steps)
{
    if (steps->len > 0)
        notify_history(spread->session, spread->type, steps, false, false);
    note_moved(spread->session, spread->type, steps);
}

static void finish_moved(struct session_spread *spread)
{
    const struct answer answer = { .result = spread->result };

    answer.result->steps = merge_steps(spread, SIZE_MAX);
    if (!is_type(spread, "preview"))
        finish_steps(spread, answer.result->steps);
    session_spread_finish(spread, &answer, NULL);
}

static void finish_plain(struct session_spread *spread)
{
    const struct answer answer = { .relayed = spread->last };

    if (is_type(spread, "discard")) {
        g_autoptr(GPtrArray) none = step_report_list_new();

        note_discarded(spread->session, spread->folders[0]);
        notify_history(spread->session, "discard", none, false, false);
    }
    session_spread_finish(spread, &answer, NULL);
}

/* Return whether the answer to this request lists the steps that it covered. */
static bool has_steps(const char *type)
{
    return strcmp(type, "rollback") == 0 || strcmp(type, "redo") == 0 ||
           strcmp(type, "preview") == 0;
}

/* The daemon did not answer and may have begun the operation. Returns a new
 * error. */
static GError *describe_unanswered(const GError *error, const char *label)
{
    return g_error_new(error->domain, error->code,
                       "%s; the progress in '%s' is unknown. The undo log "
                       "continues the operation when the folder is served "
                       "again; start a session and request undo.history",
                       error->message, label);
}

static void fail(struct session_spread *spread, const GError *error,
                 struct undo_result *result)
{
    g_autoptr(GError) unanswered = NULL;
    const struct answer answer = { .result = result };
    bool moves = !is_type(spread, "preview") && has_steps(spread->type);

    if (moves && strcmp(spread->phase, spread->type) == 0) {
        if (error->code == ERROR_BACKEND_FAILED)
            unanswered = describe_unanswered(error, result->directory);
        /* The operation may have stopped after some steps. */
        spread->lists[spread->next] = g_steal_pointer(&result->steps);
        result->steps = merge_steps(spread, SIZE_MAX);
        finish_steps(spread, result->steps);
    } else if (has_steps(spread->type)) {
        g_clear_pointer(&result->steps, g_ptr_array_unref);
        result->steps = step_report_list_new();
    }
    session_spread_finish(spread, &answer, unanswered ? unanswered : error);
    undo_result_free(result);
}

/* All folders have answered. */
static void on_answered(struct session_spread *spread)
{
    bool goes_back = is_type(spread, "rollback") || is_type(spread, "preview");
    bool planning = strcmp(spread->phase, "history") == 0;

    if (planning && goes_back)
        begin_preview(spread);
    else if (planning && is_type(spread, "redo"))
        begin_redo(spread);
    else if (strcmp(spread->phase, "preview") == 0 &&
             !session_plan_holds(spread))
        session_spread_begin(spread, "history");
    else if (strcmp(spread->phase, spread->type) != 0)
        session_spread_begin(spread, spread->type);
    else if (is_type(spread, "history"))
        finish_history(spread);
    else if (goes_back || is_type(spread, "redo"))
        finish_moved(spread);
    else
        finish_plain(spread);
}

static const struct session_spread_owner owner = { .answered = on_answered,
                                                   .failed = fail };

/* ---- operations ---------------------------------------------------------- */

static struct session_spread *ask(struct session *session, const char *type,
                                  struct folder_ref directory, json_t *payload,
                                  reply_done done, void *opaque)
{
    return session_spread_new(session, type, &owner, directory, payload, done,
                              opaque);
}

/* With several folders, the newest steps are not known yet. */
static void start_undo(struct session_spread *spread,
                       const struct undo_extent *extent)
{
    bool counted = spread && spread->n == 1 && extent->step_id == 0;

    if (!spread)
        return;
    if (extent->step_id < 0 && spread->n > 1) {
        session_spread_refuse(
            spread, g_error_new_literal(STEPBACK_ERROR, ERROR_INVALID_FIELD,
                                        "step ids below 0 belong to one "
                                        "folder; name the directory too"));
        return;
    }
    spread->steps = extent->steps;
    spread->step_id = extent->step_id;
    spread->force = extent->force;
    if (counted)
        spread->counts[0] = extent->steps;
    if (!counted)
        session_spread_occupy(spread);
    session_spread_begin(spread, counted ? spread->type : "history");
}

void session_rollback(struct session *session, struct folder_ref directory,
                      const struct undo_extent *extent, reply_done done,
                      void *opaque)
{
    start_undo(ask(session, "rollback", directory, NULL, done, opaque), extent);
}

void session_preview(struct session *session, struct folder_ref directory,
                     const struct undo_extent *extent, reply_done done,
                     void *opaque)
{
    start_undo(ask(session, "preview", directory, NULL, done, opaque), extent);
}

void session_redo(struct session *session, struct folder_ref directory,
                  const struct undo_extent *extent, reply_done done,
                  void *opaque)
{
    start_undo(ask(session, "redo", directory, NULL, done, opaque), extent);
}

void session_history(struct session *session, struct folder_ref directory,
                     unsigned limit, reply_done done, void *opaque)
{
    struct session_spread *spread = ask(session, "history", directory, NULL,
                                        done, opaque);

    if (!spread)
        return;
    spread->steps = limit;
    session_spread_begin(spread, "history");
}

void session_configure(struct session *session, struct folder_ref directory,
                       const struct undo_limits *limits, reply_done done,
                       void *opaque)
{
    struct session_spread *spread = ask(session, "configure", directory,
                                        limits_to_json(limits), done, opaque);

    if (spread)
        session_spread_begin(spread, "configure");
}

/* Send a request that concerns one folder; why completes the error's question
 * if none is named. */
static void ask_one(struct session_spread *spread, bool named, const char *why)
{
    if (!spread)
        return;
    if (named || spread->session->config->n_directories == 1) {
        session_spread_begin(spread, spread->type);
        return;
    }
    session_spread_refuse(spread,
                          g_error_new(STEPBACK_ERROR, ERROR_MISSING_FIELD,
                                      "the field 'directory' is missing: there "
                                      "are several working folders; say %s",
                                      why));
}

void session_discard(struct session *session, struct folder_ref directory,
                     reply_done done, void *opaque)
{
    ask_one(ask(session, "discard", directory, engine_request_discard(), done,
                opaque),
            directory.given, "whose history to discard");
}

void session_diff(struct session *session, struct folder_ref directory,
                  gint64 step, unsigned first, reply_done done, void *opaque)
{
    ask_one(ask(session, "diff", directory, engine_request_diff(step, first),
                done, opaque),
            directory.given, "whose files to compare");
}

void session_guard_configure(struct session *session,
                             const struct safeguard_rules *rules,
                             reply_done done, void *opaque)
{
    struct session_spread *spread = ask(session, "safeguard.configure",
                                        FOLDER_NONE, rules_to_json(rules), done,
                                        opaque);

    if (spread)
        session_spread_begin(spread, "safeguard.configure");
}
