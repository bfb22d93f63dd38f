/* SPDX-License-Identifier: Apache-2.0
 *
 * crash_look - see crash_rig.h: what there must be after a fault.
 */
#include <string.h>

#include "common/errors.h"
#include "interceptor/engine/engine.h"
#include "tests/crash/crash_rig.h"
#include "tests/lib/oracle.h"

enum { ALL = 1000 };

static struct ic *engine(struct crash *c)
{
    return world_folder_ic(c->w);
}

void crash_trouble(struct crash *c, const char *format, ...)
{
    char *text = c->shared->trouble;
    size_t used = strlen(text), room = sizeof(c->shared->trouble) - used;
    va_list args;

    va_start(args, format);
    g_vsnprintf(text + used, room, format, args);
    va_end(args);
    g_strlcat(text, "\n", sizeof(c->shared->trouble));
}

/* ---- states -------------------------------------------------------------- */

void crash_drop_states(struct crash *c, guint keep)
{
    g_ptr_array_set_size(c->states, (gint)keep);
    g_array_set_size(c->ids, keep > 0 ? keep - 1 : 0);
}

void crash_add_state(struct crash *c, int64_t id, GPtrArray *lines)
{
    g_ptr_array_add(c->states, lines);
    if (c->states->len > 1)
        g_array_append_val(c->ids, id);
}

void crash_compare(struct crash *c, guint state, const char *when)
{
    g_autoptr(GPtrArray) now = world_snapshot(c->w);
    g_autofree char *diff = NULL;

    if (state >= c->states->len) {
        crash_trouble(c, "%s: state %u, which is not known", when, state);
        return;
    }
    diff = oracle_diff(g_ptr_array_index(c->states, state), now);
    if (diff)
        crash_trouble(c, "%s: the tree differs (- wanted, + found):\n%s", when,
                      diff);
}

static GPtrArray *split_lines(const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, "\n", -1);
    GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);

    for (char **part = parts; *part; part++)
        g_ptr_array_add(lines, g_strdup(*part));
    return lines;
}

/* ---- the history --------------------------------------------------------- */

static guint find_id(struct crash *c, int64_t id)
{
    for (guint i = 0; i < c->ids->len; i++) {
        if (g_array_index(c->ids, gint64, i) == id)
            return i;
    }
    return G_MAXUINT;
}

struct crash_place crash_find_place(struct crash *c, const GArray *ids)
{
    struct crash_place place = { 0 };
    guint newest;

    /* After an act that evicts, all steps are evicted; else all are undone. */
    if (ids->len == 0)
        return (struct crash_place){ c->forgets, c->forgets };
    newest = find_id(c, g_array_index(ids, gint64, 0));
    if (newest == G_MAXUINT || newest + 1 < ids->len) {
        crash_trouble(c, "%u steps are in the history, from %" G_GINT64_FORMAT,
                      ids->len, g_array_index(ids, gint64, 0));
        return place;
    }
    place.at = newest + 1;
    place.base = place.at - ids->len;
    for (guint i = 0; i < ids->len; i++) {
        int64_t id = g_array_index(ids, gint64, i);

        if (id != g_array_index(c->ids, gint64, newest - i))
            crash_trouble(c, "step %" G_GINT64_FORMAT " is in the history", id);
    }
    return place;
}

static struct crash_place look_at_history(struct crash *c)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(gint64));
    GPtrArray *infos = ic_history(engine(c), ALL, &error);

    if (!infos)
        crash_trouble(c, "history: %s", error->message);
    for (guint i = 0; infos && i < infos->len; i++) {
        const struct ic_step_info *info = g_ptr_array_index(infos, i);

        g_array_append_val(ids, info->id);
    }
    if (infos)
        g_ptr_array_unref(infos);
    return crash_find_place(c, ids);
}

void crash_check_place(struct crash *c, struct crash_place place, bool done)
{
    const struct crash_act *act = c->act;
    guint least = MIN(act->before, act->after);
    guint most = MAX(act->before, act->after);

    if (place.at < least || place.at > most || (done && place.at != act->after))
        crash_trouble(c, "%u steps are made, %u before, %u wanted", place.at,
                      act->before, act->after);
    if (place.base > c->forgets || (done && place.base != act->forgets))
        crash_trouble(c, "%u steps are forgotten, %u wanted", place.base,
                      act->forgets);
}

/* ---- the log ------------------------------------------------------------- */

static guint count_entries(struct crash *c, const char *name, const char *but)
{
    g_autofree char *path = g_build_filename(c->w->undo_dir, name, NULL);
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *entry;
    guint count = 0;

    while (dir && (entry = g_dir_read_name(dir)))
        count += g_strcmp0(entry, but) != 0;
    return count;
}

/* The log may contain nothing of an interrupted step, nor of one that was
 * evicted. */
static void check_log(struct crash *c, guint steps)
{
    guint found = count_entries(c, "steps", NULL);

    if (count_entries(c, "wal", "trash") > 0)
        crash_trouble(c, "something is left in wal/ of the log");
    if (count_entries(c, "wal/trash", NULL) > 0)
        crash_trouble(c, "wal/trash is not empty");
    if (count_entries(c, "discarded", NULL) > 0)
        crash_trouble(c, "something is left in discarded/ of the log");
    if (found != steps)
        crash_trouble(c, "steps/ has %u entries, the history %u", found, steps);
}

/* ---- checks -------------------------------------------------------------- */

static bool start_again(struct crash *c, bool recovers)
{
    struct ic_step_info *info;

    if (!crash_open(c))
        return false;
    info = ic_recovered(engine(c));
    if (info && !recovers)
        crash_trouble(c, "a second start recovers step %" G_GINT64_FORMAT,
                      info->id);
    ic_step_info_free(info);
    return true;
}

/* If the log still has another version, the share must be complete, too, and it
 * must be possible to discard the log. */
static bool discard_again(struct crash *c)
{
    g_autoptr(GError) error = NULL;

    if (!engine(c)->closed_log)
        return true;
    if (!c->act->other_version)
        crash_trouble(c, "the log has another version");
    crash_compare(c, c->act->before, "with a log of another version");
    if (ic_discard(engine(c), &error))
        return true;
    crash_trouble(c, "discarding the log once more: %s", error->message);
    return false;
}

/* What a rollback has kept for redo must lead back to where it started. */
static guint redo_all(struct crash *c, guint at, bool had_errors)
{
    /* Nothing changed before the act: the redo is of the last round. */
    if (c->act->before + c->act->undone == 0)
        return at;
    for (;;) {
        struct ic_rollback_result *result;
        g_autoptr(GError) error = NULL;
        gboolean ok = ic_redo(engine(c), 1, false, &result, &error);

        ic_rollback_result_free(result);
        if (ok) {
            crash_compare(c, ++at, "redoing all");
            continue;
        }
        if (error_code_of(error) != ERROR_NOTHING_TO_REDO &&
            !(had_errors && error_code_of(error) == ERROR_UNDO_BARRIER))
            crash_trouble(c, "redo: %s", error->message);
        return at;
    }
}

/* Undo back to the first state that can be reached. */
static void unwind(struct crash *c, struct crash_place place, bool had_errors)
{
    g_autoptr(GError) none = NULL;

    while (place.at > place.base) {
        g_autoptr(GError) error = NULL;

        /* Errors may have kept the engine from recording what it restored. It
         * then takes that for an outside edit, and needs force. */
        if (!ic_rollback(engine(c), 1, false, NULL, &error) && had_errors &&
            g_error_matches(error, STEPBACK_ERROR, ERROR_UNDO_BARRIER)) {
            g_clear_error(&error);
            ic_rollback(engine(c), 1, true, NULL, &error);
        }
        if (error) {
            crash_trouble(c, "undoing step %u: %s", place.at, error->message);
            return;
        }
        crash_compare(c, --place.at, "undoing all");
    }
    if (ic_rollback(engine(c), 1, false, NULL, &none))
        crash_trouble(c, "a step that was forgotten is undone");
}

static void add_state_after(struct crash *c)
{
    if (c->shared->has_after)
        crash_add_state(c, c->shared->id, split_lines(c->shared->after));
}

/* The interrupted step is in the state that was found. found: the tree then. */
static void add_state_found(struct crash *c, GPtrArray *found)
{
    g_autoptr(GPtrArray) infos = ic_history(engine(c), 1, NULL);
    const struct ic_step_info *newest = infos && infos->len > 0
                                            ? g_ptr_array_index(infos, 0)
                                            : NULL;

    if (newest && find_id(c, newest->id) == G_MAXUINT)
        crash_add_state(c, newest->id, g_ptr_array_ref(found));
    else if (!newest)
        crash_compare(c, 0, "with nothing in the history");
    g_ptr_array_add(c->states, g_ptr_array_ref(found));
    crash_compare(c, c->states->len - 1, "of a step that stays");
    g_ptr_array_set_size(c->states, (gint)c->states->len - 1);
}

guint crash_look_after(struct crash *c, bool done)
{
    bool had_errors = c->last_error != 0;
    g_autoptr(GPtrArray) found = world_snapshot(c->w);
    struct crash_place place, second;

    c->plan = NULL;
    c->errors = false;
    add_state_after(c);
    if (!start_again(c, true) || !discard_again(c))
        return 0;
    if (c->act->stays)
        add_state_found(c, found);
    place = look_at_history(c);
    crash_check_place(c, place, done);
    crash_compare(c, place.at, "after the next start");
    undo_log_drain_trash(engine(c)->log);
    crash_close(c);
    check_log(c, place.at - place.base);
    if (!start_again(c, false))
        return place.base;
    crash_compare(c, place.at, "after the second start");
    second = look_at_history(c);
    if (second.at != place.at || second.base != place.base)
        crash_trouble(c, "a second start changes the history");
    second.at = redo_all(c, place.at, had_errors);
    unwind(c, second, had_errors);
    crash_close(c);
    return place.base;
}
