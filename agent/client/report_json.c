/* SPDX-License-Identifier: Apache-2.0
 *
 * report_json - see report_json.h.
 */
#include "agent/client/report_json.h"

#include <string.h>

#include "common/change_json.h"
#include "common/json_bytes.h"

_Static_assert(CHANGE_NAMES == IC_CHANGE_TYPES, "a type has no name");

/* ---- members ------------------------------------------------------------- */

static gint64 get_int(json_t *object, const char *key, gint64 missing)
{
    json_t *member = json_object_get(object, key);

    return json_is_integer(member) ? json_integer_value(member) : missing;
}

static bool get_bool(json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

static char *get_string(json_t *object, const char *key)
{
    return g_strdup(json_string_value(json_object_get(object, key)));
}

static void set_int(json_t *object, const char *key, gint64 value)
{
    json_object_set_new(object, key, json_integer((json_int_t)value));
}

static void set_true(json_t *object, const char *key, bool value)
{
    if (value)
        json_object_set_new(object, key, json_true());
}

static void set_string(json_t *object, const char *key, const char *value)
{
    json_object_set_new(object, key, value ? json_string(value) : json_null());
}

static void set_label(json_t *object, const char *label)
{
    if (label)
        set_string(object, "directory", label);
}

void label_json(json_t *object, const char *label)
{
    json_t *change;
    size_t i;

    set_label(object, label);
    json_array_foreach(json_object_get(object, "changes"), i, change)
        set_label(change, label);
}

/* ---- lists --------------------------------------------------------------- */

static GPtrArray *paths_from_json(json_t *list)
{
    GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);
    json_t *value;
    size_t i;

    json_array_foreach(list, i, value)
    {
        char *path = json_bytes_get_path(value);

        if (path)
            g_ptr_array_add(paths, path);
    }
    return paths;
}

json_t *paths_to_json(const GPtrArray *paths)
{
    json_t *list = json_array();

    for (guint i = 0; i < paths->len; i++)
        json_array_append_new(list,
                              json_bytes_path(g_ptr_array_index(paths, i)));
    return list;
}

static json_t *texts_to_json(const GPtrArray *texts)
{
    json_t *list = json_array();

    for (guint i = 0; i < texts->len; i++)
        json_array_append_new(list, json_string(g_ptr_array_index(texts, i)));
    return list;
}

static GPtrArray *reports_from_json(json_t *list, const char *label)
{
    GPtrArray *reports = step_report_list_new();
    json_t *object;
    size_t i;

    json_array_foreach(list, i, object)
        g_ptr_array_add(reports, report_from_json(object, label));
    return reports;
}

json_t *reports_to_json(const GPtrArray *reports)
{
    json_t *list = json_array();

    for (guint i = 0; i < reports->len; i++)
        json_array_append_new(list,
                              report_to_json(g_ptr_array_index(reports, i)));
    return list;
}

/* ---- changes ------------------------------------------------------------- */

static void add_change(GPtrArray *changes, json_t *object, const char *label)
{
    const char *name = json_string_value(json_object_get(object, "change"));
    char *path = json_bytes_get(object, "path", NULL);

    for (int type = 0; path && type < IC_CHANGE_TYPES; type++) {
        struct step_change *change;

        if (g_strcmp0(name, change_names[type]) != 0)
            continue;
        change = step_change_new();
        change->type = (enum ic_change_type)type;
        change->path = g_steal_pointer(&path);
        change->from = json_bytes_get(object, "from", NULL);
        change->size_before = get_int(object, "size_before", -1);
        change->size_after = get_int(object, "size_after", -1);
        change->directory = g_strdup(label);
        change->n_by = change_json_get_by(object, change->by, IC_MAX_BY);
        g_ptr_array_add(changes, change);
    }
    g_free(path);
}

static bool is_text(const char *path)
{
    return !path || json_bytes_is_text(path, strlen(path));
}

static json_t *change_to_json(const struct step_change *change)
{
    json_t *object = json_object();

    if (!is_text(change->path) || !is_text(change->from))
        json_bytes_force_base64(object);
    json_bytes_set(object, "path", change->path, strlen(change->path));
    if (change->from)
        json_bytes_set(object, "from", change->from, strlen(change->from));
    set_string(object, "change", change_names[change->type]);
    if (change->size_before >= 0)
        set_int(object, "size_before", change->size_before);
    if (change->size_after >= 0)
        set_int(object, "size_after", change->size_after);
    change_json_set_by(object, change->by, change->n_by);
    set_label(object, change->directory);
    return object;
}

/* ---- reports ------------------------------------------------------------- */

struct step_report *report_from_json(json_t *object, const char *label)
{
    struct step_report *report = step_report_new();
    json_t *counts = json_object_get(object, "counts"), *change;
    size_t i;

    report->step_id = get_int(object, "step_id", 0);
    report->type = get_string(object, "type");
    report->command = json_bytes_get(object, "command", NULL);
    report->exit_code = (int)get_int(object, "exit_code", -1);
    report->has_times = json_object_get(object, "started") != NULL;
    report->started = get_string(object, "started");
    report->ended = get_string(object, "ended");
    report->duration_ms = get_int(object, "duration_ms", 0);
    report->affected = get_int(object, "affected", 0);
    for (i = 0; i < IC_CHANGE_TYPES; i++)
        report->counts[i] = get_int(counts, change_names[i], 0);
    json_array_foreach(json_object_get(object, "changes"), i, change)
        add_change(report->changes, change, label);
    report->truncated = get_bool(object, "truncated");
    /* Missing in the report of a step that was just undone. */
    report->undoable = !json_is_false(json_object_get(object, "undoable"));
    report->unchanged = get_bool(object, "unchanged");
    report->unprotected = get_bool(object, "unprotected");
    report->damaged = get_bool(object, "damaged");
    report->other_folder = get_bool(object, "other_folder");
    report->aborted = get_bool(object, "aborted");
    report->below_unprotected = get_int(object, "below_unprotected", 0);
    report->reason = get_string(object, "reason");
    report->directory = g_strdup(label);
    return report;
}

static void add_affected(json_t *list, GHashTable *seen,
                         const struct step_change *change, const char *path)
{
    g_autofree char *key = g_strconcat(
        change->directory ? change->directory : "", "/", path, NULL);

    if (g_hash_table_add(seen, g_steal_pointer(&key)))
        json_array_append_new(list, json_bytes_path(path));
}

static void set_changes(json_t *object, GPtrArray *changes)
{
    g_autoptr(GHashTable)
        seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    json_t *list = json_array(), *paths = json_array();

    for (guint i = 0; i < changes->len; i++) {
        const struct step_change *change = g_ptr_array_index(changes, i);

        json_array_append_new(list, change_to_json(change));
        if (change->from)
            add_affected(paths, seen, change, change->from);
        add_affected(paths, seen, change, change->path);
    }
    json_object_set_new(object, "changes", list);
    json_object_set_new(object, "affected_paths", paths);
}

static json_t *counts_to_json(const struct step_report *report)
{
    json_t *counts = json_object();

    for (size_t i = 0; i < IC_CHANGE_TYPES; i++) {
        if (report->counts[i] > 0)
            set_int(counts, change_names[i], report->counts[i]);
    }
    return counts;
}

static json_t *parts_to_json(GPtrArray *parts)
{
    json_t *list = json_array();

    for (guint i = 0; i < parts->len; i++) {
        const struct step_part *part = g_ptr_array_index(parts, i);
        json_t *object = json_pack(
            "{s:s, s:I, s:b}", "directory", part->directory, "affected",
            (json_int_t)part->affected, "undoable", part->undoable);

        set_true(object, "unprotected", part->unprotected);
        set_true(object, "other_folder", part->other_folder);
        json_array_append_new(list, object);
    }
    return list;
}

/* Flags and numbers that a report has only if they apply. */
static void set_marks(json_t *object, const struct step_report *report)
{
    set_true(object, "unchanged", report->unchanged);
    set_true(object, "unprotected", report->unprotected);
    set_true(object, "damaged", report->damaged);
    set_true(object, "other_folder", report->other_folder);
    set_true(object, "aborted", report->aborted);
    if (report->reason)
        set_string(object, "reason", report->reason);
    if (report->below_unprotected)
        set_int(object, "below_unprotected", report->below_unprotected);
    if (report->number)
        set_int(object, "signal", report->number);
    if (report->oom_kills)
        set_int(object, "oom_kills", report->oom_kills);
    if (report->dropped >= 0)
        set_int(object, "dropped_output_events", report->dropped);
}

json_t *report_to_json(const struct step_report *report)
{
    json_t *object = json_pack(
        "{s:I, s:s?, s:i, s:I, s:b, s:I, s:o, s:b}", "step_id",
        (json_int_t)report->step_id, "type", report->type, "exit_code",
        report->exit_code, "duration_ms", (json_int_t)report->duration_ms,
        "undoable", report->undoable, "affected", (json_int_t)report->affected,
        "counts", counts_to_json(report), "truncated", report->truncated);

    if (report->command)
        json_bytes_set(object, "command", report->command,
                       strlen(report->command));
    if (report->has_times) {
        set_string(object, "started", report->started);
        set_string(object, "ended", report->ended);
    }
    set_changes(object, report->changes);
    set_marks(object, report);
    set_label(object, report->directory);
    if (report->parts)
        json_object_set_new(object, "directories",
                            parts_to_json(report->parts));
    return object;
}

/* ---- barriers ------------------------------------------------------------ */

struct undo_barrier *barrier_from_json(json_t *object, const char *label)
{
    struct undo_barrier *barrier = g_new0(struct undo_barrier, 1);

    barrier->timestamp = get_string(object, "timestamp");
    barrier->paths = paths_from_json(json_object_get(object, "paths"));
    barrier->more = get_int(object, "more", 0);
    barrier->pid = get_int(object, "pid", 0);
    barrier->process = get_string(object, "process");
    barrier->watched = get_bool(object, "watched");
    barrier->after_step = get_int(object, "after_step", 0);
    barrier->directory = g_strdup(label);
    return barrier;
}

static GPtrArray *barriers_from_json(json_t *list, const char *label)
{
    GPtrArray *barriers = undo_barrier_list_new();
    json_t *object;
    size_t i;

    json_array_foreach(list, i, object)
        g_ptr_array_add(barriers, barrier_from_json(object, label));
    return barriers;
}

static json_t *int_or_null(gint64 value)
{
    return value ? json_integer((json_int_t)value) : json_null();
}

static json_t *barriers_to_json(const GPtrArray *barriers)
{
    json_t *list = json_array();

    for (guint i = 0; i < barriers->len; i++) {
        const struct undo_barrier *barrier = g_ptr_array_index(barriers, i);
        json_t *object = json_pack(
            "{s:s, s:s?, s:o, s:I, s:o, s:s?, s:b, s:o}", "type", "barrier",
            "timestamp", barrier->timestamp, "paths",
            paths_to_json(barrier->paths), "more", (json_int_t)barrier->more,
            "pid", int_or_null(barrier->pid), "process", barrier->process,
            "watched", barrier->watched, "after_step",
            int_or_null(barrier->after_step));

        set_label(object, barrier->directory);
        json_array_append_new(list, object);
    }
    return list;
}

/* ---- results ------------------------------------------------------------- */

struct undo_result *result_from_json(json_t *object, const char *label)
{
    struct undo_result *result = undo_result_new();
    json_t *steps = json_object_get(object, "steps");
    json_t *barriers = json_object_get(object, "barriers");
    json_t *redo_steps = json_object_get(object, "redo_steps");
    json_t *warnings = json_object_get(object, "warnings");
    json_t *not_restored = json_object_get(object, "not_restored");
    json_t *paths = json_object_get(object, "paths");

    if (steps)
        result->steps = reports_from_json(steps, label);
    if (barriers)
        result->barriers = barriers_from_json(barriers, label);
    if (redo_steps)
        result->redo_steps = reports_from_json(redo_steps, label);
    if (warnings)
        result->warnings = paths_from_json(warnings);
    if (not_restored)
        result->not_restored = paths_from_json(not_restored);
    if (paths)
        result->paths = paths_from_json(paths);
    result->last_step_id = get_int(object, "last_step_id", -1);
    result->redoable = get_int(object, "redoable", -1);
    return result;
}

GPtrArray *history_from_json(json_t *payload, const char *label,
                             char **ret_operation, bool *ret_truncated)
{
    char *operation = get_string(payload, "operation");

    *ret_operation = operation ? operation : g_strdup("");
    *ret_truncated = get_bool(payload, "truncated");
    return reports_from_json(json_object_get(payload, "steps"), label);
}

static json_t *redo_counts_to_json(const GPtrArray *counts)
{
    json_t *object = json_object();

    for (guint i = 0; i < counts->len; i++) {
        const struct undo_count *count = g_ptr_array_index(counts, i);

        set_int(object, count->directory, count->steps);
    }
    return object;
}

static void set_list(json_t *object, const char *key, const GPtrArray *list,
                     json_t *(*convert)(const GPtrArray *list))
{
    if (list)
        json_object_set_new(object, key, convert(list));
}

/* In a failure, "redoable" is the count of each folder. */
json_t *result_to_json(const struct undo_result *result)
{
    json_t *object = json_object();

    set_label(object, result->directory);
    set_list(object, "steps", result->steps, reports_to_json);
    set_list(object, "barriers", result->barriers, barriers_to_json);
    set_list(object, "warnings", result->warnings, texts_to_json);
    set_list(object, "not_restored", result->not_restored, paths_to_json);
    set_list(object, "paths", result->paths, paths_to_json);
    set_list(object,
             result->redoable >= 0 ? "redoable_by_directory" : "redoable",
             result->redo_counts, redo_counts_to_json);
    if (result->redoable >= 0)
        set_int(object, "redoable", result->redoable);
    if (result->last_step_id >= 0)
        set_int(object, "last_step_id", result->last_step_id);
    return object;
}
