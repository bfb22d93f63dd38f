/* SPDX-License-Identifier: Apache-2.0
 *
 * session_undo - see session.h: what is asked of the undo logs.
 *
 * A request goes to one folder's daemon, or to all that keep steps, one after
 * the other. What goes back over several folders is planned first: their
 * histories say which of each log's steps are the newest ones of all, and a
 * preview in each says whether somebody else's edits are in the way. So either
 * all go back or, as far as can be known before, none.
 *
 * Which steps were taken back together is kept for redo, as long as the
 * session runs.
 */
#include "agent/session_parts.h"

#include <string.h>

#include "agent/step_merge.h"
#include "common/errors.h"

/* A request to several folders. */
struct spread {
    struct session *session;
    struct reply reply;
    const char *type;  /* what is asked of the daemons in the end */
    const char *phase; /* what is asked of them now */
    json_t *payload;   /* for all the same; or NULL: by counts and force */
    unsigned steps;
    bool force;
    bool occupies; /* the session */

    unsigned folders[SESSION_MAX_DIRECTORIES];
    unsigned n;
    unsigned counts[SESSION_MAX_DIRECTORIES]; /* steps to go, in each */
    unsigned next;                            /* of the folders: who is asked */
    json_t *lists[SESSION_MAX_DIRECTORIES];   /* "steps" of the answers */
    json_t *barriers, *warnings, *last;
};

static void ask_next(struct spread *spread);

static bool is_type(const struct spread *spread, const char *type)
{
    return strcmp(spread->type, type) == 0;
}

static const char *folder_label(const struct spread *spread, unsigned i)
{
    return spread->session->config->directories[spread->folders[i]]->label;
}

/* ---- what was taken back together ---------------------------------------- */

/* A unit of redo is a set of folders. */
static void note_undone(struct spread *spread, json_t *steps)
{
    json_t *step, *part;
    size_t i, j;

    json_array_foreach(steps, i, step)
    {
        unsigned set = 0;

        json_array_foreach(json_object_get(step, "directories"), j, part)
        {
            unsigned index;

            if (session_directory_find(spread->session->config->directories,
                                       spread->session->config->n_directories,
                                       json_object_get(part, "directory"),
                                       &index, NULL))
                set |= 1u << index;
        }
        if (set)
            g_array_append_val(spread->session->undone, set);
    }
}

/* A folder's step was redone by itself. */
static void note_redone(struct session *session, unsigned index)
{
    for (guint i = session->undone->len; i > 0; i--) {
        unsigned *set = &g_array_index(session->undone, unsigned, i - 1);

        if (!(*set & 1u << index))
            continue;
        *set &= ~(1u << index);
        if (*set == 0)
            g_array_remove_index(session->undone, i - 1);
        return;
    }
}

static gboolean plan_redo(struct spread *spread, GError **error)
{
    GArray *undone = spread->session->undone;

    if (undone->len < spread->steps) {
        g_set_error(error, STEPBACK_ERROR, ERROR_NOTHING_TO_REDO,
                    "%u steps were taken back in this session and can be "
                    "brought back; name a directory to bring back older ones",
                    undone->len);
        return FALSE;
    }
    for (unsigned k = 0; k < spread->steps; k++) {
        unsigned set = g_array_index(undone, unsigned, undone->len - 1 - k);

        for (unsigned i = 0; i < spread->n; i++)
            spread->counts[i] += set >> spread->folders[i] & 1;
    }
    return TRUE;
}

/* ---- the end ------------------------------------------------------------- */

static void spread_free(struct spread *spread)
{
    for (unsigned i = 0; i < SESSION_MAX_DIRECTORIES; i++)
        json_decref(spread->lists[i]);
    json_decref(spread->payload);
    json_decref(spread->barriers);
    json_decref(spread->warnings);
    json_decref(spread->last);
    g_free(spread);
}

/* The guest's kernel may remember names and sizes that are no more. */
static void notify_guest(struct session *session, json_t *steps)
{
    json_t *oldest = json_array_get(steps, json_array_size(steps) - 1);

    if (session->state == SESSION_RUNNING && oldest)
        guest_channel_rollback_notify(
            machine_guest(session->machine),
            json_integer_value(json_object_get(oldest, "step_id")));
}

/* Others than the one who asked look at the history, too. */
static void tell_history(struct spread *spread, json_t *steps)
{
    session_send_event(
        spread->session, "event.history_changed",
        json_pack("{s:s, s:O}", "operation", spread->type, "steps", steps),
        false);
}

static void note_moved(struct spread *spread, json_t *steps)
{
    if (json_array_size(steps) > 0)
        tell_history(spread, steps);
    notify_guest(spread->session, steps);
    if (is_type(spread, "rollback")) {
        note_undone(spread, steps);
        return;
    }
    for (unsigned i = 0; i < spread->n; i++) {
        for (size_t k = 0; k < json_array_size(spread->lists[i]); k++)
            note_redone(spread->session, spread->folders[i]);
    }
}

/* The steps of all answers to the last question. */
static json_t *merge_steps(struct spread *spread, size_t limit)
{
    return step_merge_lists(spread->lists, spread->n, limit,
                            is_type(spread, "redo"), NULL);
}

/* Who waits is told, and nothing is under way any more. */
static void finish(struct spread *spread, json_t *payload, const GError *error,
                   json_t *data)
{
    struct session *session = spread->session;

    if (spread->occupies)
        session->occupied = NULL;
    reply_send(&spread->reply, payload, error, data);
    spread_free(spread);
    session_command_over(session);
}

/* The newest first. */
static int compare_barriers(const void *a, const void *b)
{
    json_t *const *x = a, *const *y = b;

    return g_strcmp0(json_string_value(json_object_get(*y, "timestamp")),
                     json_string_value(json_object_get(*x, "timestamp")));
}

static json_t *sort_barriers(json_t *list)
{
    size_t count = json_array_size(list);
    g_autofree json_t **all = g_new(json_t *, count + 1);
    json_t *sorted = json_array();

    for (size_t i = 0; i < count; i++)
        all[i] = json_array_get(list, i);
    qsort(all, count, sizeof(*all), compare_barriers);
    for (size_t i = 0; i < count; i++)
        json_array_append(sorted, all[i]);
    return sorted;
}

static void finish_history(struct spread *spread)
{
    struct session *session = spread->session;
    json_t *payload = json_pack("{s:o, s:o, s:I}", "steps",
                                merge_steps(spread, spread->steps), "barriers",
                                sort_barriers(spread->barriers), "last_step_id",
                                (json_int_t)session->last_step_id);

    if (spread->n == 1)
        json_object_set(payload, "redoable",
                        json_object_get(spread->last, "redoable"));
    else
        json_object_set_new(payload, "redoable",
                            json_integer(session->undone->len));
    finish(spread, payload, NULL, NULL);
    json_decref(payload);
}

static void finish_moved(struct spread *spread)
{
    json_t *payload = json_pack("{s:o, s:O, s:O}", "steps",
                                merge_steps(spread, SIZE_MAX), "barriers",
                                spread->barriers, "warnings", spread->warnings);

    if (!is_type(spread, "preview"))
        note_moved(spread, json_object_get(payload, "steps"));
    finish(spread, payload, NULL, NULL);
    json_decref(payload);
}

static void finish_plain(struct spread *spread)
{
    if (is_type(spread, "discard")) {
        json_t *none = json_array();

        backends_set_undo(machine_backends(spread->session->machine),
                          spread->folders[0]);
        tell_history(spread, none);
        json_decref(none);
    }
    finish(spread, spread->last, NULL, NULL);
}

/* Whether its answer has the steps that it went over. */
static bool has_steps(const char *type)
{
    return strcmp(type, "rollback") == 0 || strcmp(type, "redo") == 0 ||
           strcmp(type, "preview") == 0;
}

/* data (borrowed; may be NULL): the daemon's. */
static void fail(struct spread *spread, const GError *error, json_t *data)
{
    json_t *all = data ? json_deep_copy(data) : json_object();
    const char *label = folder_label(spread, spread->next);

    bool moves = !is_type(spread, "preview") && has_steps(spread->type);

    json_object_set_new(all, "directory", json_string(label));
    step_merge_label_all(json_object_get(all, "barriers"), label);
    if (moves && strcmp(spread->phase, spread->type) == 0) {
        /* It may have stopped after some steps. */
        json_t *steps = json_incref(json_object_get(all, "steps"));

        step_merge_label_all(steps, label);
        spread->lists[spread->next] = steps;
        json_object_set_new(all, "steps", merge_steps(spread, SIZE_MAX));
        note_moved(spread, json_object_get(all, "steps"));
    } else if (has_steps(spread->type)) {
        json_object_set_new(all, "steps", json_array());
    }
    finish(spread, NULL, error, all);
    json_decref(all);
}

/* ---- asking -------------------------------------------------------------- */

/* One daemon carries out its requests in their order; between the requests to
 * several nobody else may change what they find. */
static void occupy(struct spread *spread)
{
    if (spread->n == 1)
        return;
    spread->occupies = true;
    spread->session->occupied = "steps are being taken back or brought back";
}

static void begin(struct spread *spread, const char *phase)
{
    spread->phase = phase;
    spread->next = 0;
    for (unsigned i = 0; i < spread->n; i++)
        g_clear_pointer(&spread->lists[i], json_decref);
    json_array_clear(spread->barriers);
    json_array_clear(spread->warnings);
    ask_next(spread);
}

static void plan_back(struct spread *spread)
{
    json_t *units = step_merge_lists(spread->lists, spread->n, spread->steps,
                                     false, spread->counts);
    size_t found = json_array_size(units);
    g_autoptr(GError) error = NULL;

    json_decref(units);
    spread->next = 0;
    if (found == spread->steps) {
        begin(spread, "preview");
        return;
    }
    error = g_error_new(STEPBACK_ERROR, ERROR_NOTHING_TO_UNDO,
                        "there are %zu steps to undo, not %u", found,
                        spread->steps);
    finish(spread, NULL, error, NULL);
}

/* All have answered. */
static void end_phase(struct spread *spread)
{
    bool goes_back = is_type(spread, "rollback") || is_type(spread, "preview");

    if (goes_back && strcmp(spread->phase, "history") == 0)
        plan_back(spread);
    else if (strcmp(spread->phase, spread->type) != 0)
        begin(spread, spread->type);
    else if (is_type(spread, "history"))
        finish_history(spread);
    else if (goes_back || is_type(spread, "redo"))
        finish_moved(spread);
    else
        finish_plain(spread);
}

static void keep_all(json_t *into, json_t *list, const char *label)
{
    json_t *copy = json_deep_copy(list);

    if (label)
        step_merge_label_all(copy, label);
    json_array_extend(into, copy);
    json_decref(copy);
}

static void on_answer(json_t *payload, const GError *error, json_t *data,
                      void *opaque)
{
    struct spread *spread = opaque;
    const char *label = folder_label(spread, spread->next);
    json_t *steps;

    if (error) {
        fail(spread, error, data);
        return;
    }
    json_decref(spread->last);
    spread->last = json_incref(payload);
    steps = json_deep_copy(json_object_get(payload, "steps"));
    if (steps)
        step_merge_label_all(steps, label);
    spread->lists[spread->next] = steps;
    keep_all(spread->barriers, json_object_get(payload, "barriers"), label);
    keep_all(spread->warnings, json_object_get(payload, "warnings"), NULL);
    spread->next++;
    ask_next(spread);
}

static json_t *next_payload(const struct spread *spread)
{
    if (spread->payload)
        return json_incref(spread->payload);
    if (strcmp(spread->phase, "history") == 0)
        return json_pack("{s:I}", "limit", (json_int_t)spread->steps);
    return json_pack("{s:I, s:b}", "steps",
                     (json_int_t)spread->counts[spread->next], "force",
                     spread->force);
}

static void ask_next(struct spread *spread)
{
    bool counted = !spread->payload && strcmp(spread->phase, "history") != 0;

    while (counted && spread->next < spread->n &&
           spread->counts[spread->next] == 0)
        spread->next++;
    if (spread->next == spread->n)
        end_phase(spread);
    else
        control_link_request(
            session_folder_link(spread->session, spread->folders[spread->next]),
            spread->phase, next_payload(spread), on_answer, spread);
}

/* ---- who is asked -------------------------------------------------------- */

/* The one that is named; else all that keep steps; else the first, whose daemon
 * knows why it keeps none. */
static gboolean choose_folders(struct spread *spread, json_t *directory,
                               GError **error)
{
    struct session *session = spread->session;

    if (!session_find_folder(session, directory, &spread->folders[0], error))
        return FALSE;
    for (unsigned i = 0; !directory && i < session->config->n_directories;
         i++) {
        if (backends_has_undo(machine_backends(session->machine), i))
            spread->folders[spread->n++] = i;
    }
    spread->n = MAX(spread->n, 1);
    return TRUE;
}

/* NULL: it was refused, and who asked is told. payload is taken. */
static struct spread *spread_new(struct session *session, const char *type,
                                 json_t *directory, json_t *payload,
                                 reply_done done, void *opaque)
{
    struct spread *spread = g_new0(struct spread, 1);
    GError *error = NULL;

    spread->session = session;
    spread->reply = (struct reply){ done, opaque };
    spread->type = type;
    spread->payload = payload;
    spread->barriers = json_array();
    spread->warnings = json_array();
    if (session_check_idle(session, &error) &&
        choose_folders(spread, directory, &error))
        return spread;
    spread_free(spread);
    reply_post_error(done, opaque, error);
    return NULL;
}

static void refuse(struct spread *spread, GError *error)
{
    reply_post_error(spread->reply.done, spread->reply.opaque, error);
    spread_free(spread);
}

/* ---- operations ---------------------------------------------------------- */

/* Of several folders' steps it is not known yet which are the newest. */
static void go_back(struct spread *spread, unsigned steps, bool force)
{
    if (!spread)
        return;
    spread->steps = steps;
    spread->force = force;
    spread->counts[0] = steps;
    occupy(spread);
    begin(spread, spread->n == 1 ? spread->type : "history");
}

void session_rollback(struct session *session, json_t *directory,
                      unsigned steps, bool force, reply_done done, void *opaque)
{
    go_back(spread_new(session, "rollback", directory, NULL, done, opaque),
            steps, force);
}

void session_preview(struct session *session, json_t *directory, unsigned steps,
                     bool force, reply_done done, void *opaque)
{
    go_back(spread_new(session, "preview", directory, NULL, done, opaque),
            steps, force);
}

void session_redo(struct session *session, json_t *directory, unsigned steps,
                  bool force, reply_done done, void *opaque)
{
    struct spread *spread = spread_new(session, "redo", directory, NULL, done,
                                       opaque);
    GError *error = NULL;

    if (!spread)
        return;
    spread->steps = steps;
    spread->force = force;
    if (spread->n == 1)
        spread->counts[0] = steps;
    else if (!plan_redo(spread, &error)) {
        refuse(spread, error);
        return;
    }
    occupy(spread);
    begin(spread, "redo");
}

void session_history(struct session *session, json_t *directory, unsigned limit,
                     reply_done done, void *opaque)
{
    struct spread *spread = spread_new(session, "history", directory, NULL,
                                       done, opaque);

    if (!spread)
        return;
    spread->steps = limit;
    begin(spread, "history");
}

void session_configure(struct session *session, json_t *directory,
                       json_t *limits, reply_done done, void *opaque)
{
    struct spread *spread = spread_new(session, "configure", directory, limits,
                                       done, opaque);

    if (spread)
        begin(spread, "configure");
}

/* What is about one folder; why: what the question would be. */
static void ask_one(struct spread *spread, bool named, const char *why)
{
    if (!spread)
        return;
    if (named || spread->session->config->n_directories == 1) {
        begin(spread, spread->type);
        return;
    }
    refuse(spread, g_error_new(STEPBACK_ERROR, ERROR_MISSING_FIELD,
                               "the field 'directory' is missing: there are "
                               "several working folders, so say %s",
                               why));
}

void session_discard(struct session *session, json_t *directory,
                     reply_done done, void *opaque)
{
    ask_one(
        spread_new(session, "discard", directory, json_object(), done, opaque),
        directory != NULL, "whose history is to be forgotten");
}

void session_diff(struct session *session, json_t *directory, gint64 step,
                  unsigned first, reply_done done, void *opaque)
{
    json_t *payload = json_pack("{s:I, s:I}", "step_id", (json_int_t)step,
                                "first", (json_int_t)first);

    ask_one(spread_new(session, "diff", directory, payload, done, opaque),
            directory != NULL, "which one's files");
}

void session_guard_configure(struct session *session, json_t *rules,
                             reply_done done, void *opaque)
{
    struct spread *spread = spread_new(session, "safeguard.configure", NULL,
                                       rules, done, opaque);

    if (spread)
        begin(spread, "safeguard.configure");
}
